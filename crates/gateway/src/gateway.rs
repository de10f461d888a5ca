//! The gateway as a whole: its ports, from start to drain.

use crate::admission::GatewayLimits;
use crate::admit::Gate;
use crate::app::{App, AppParts};
use crate::connections::LimitedAcceptor;
use crate::files::Secrets;
use crate::probe::{HealthState, Probe};
use crate::routes::{admin_routes, main_routes};
use axum::Router;
use axum_server::tls_rustls::{RustlsAcceptor, RustlsConfig};
use axum_server::{Handle, Server};
use groundline::{AsyncChecks, Checker, GatewayConfig};
use groundline_actors::{OwnedTask, TaskKind, spawn_task};
use groundline_telemetry::PrometheusText;
use groundline_types::{Code, Problem};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How often an HTTP/2 connection without traffic is asked whether it still lives, and how long it may take to answer.
const HTTP2_PING: Duration = Duration::from_secs(20);
/// Most requests at once on one HTTP/2 connection.
const HTTP2_STREAMS: u32 = 256;
/// Largest sum of an HTTP/2 request's headers.
const HTTP2_HEADER_BYTES: u32 = 32 << 10;
/// How long the admin port waits for requests under way.
const ADMIN_DRAIN: Duration = Duration::from_secs(1);

/// What a gateway serves.
#[derive(Debug)]
pub struct GatewayParts {
    /// Who checks.
    pub checker: Checker,
    /// Who keeps checks that nobody waits for; without, `/v1/checks` answers 501.
    pub async_checks: Option<AsyncChecks>,
    /// The metrics of this process; without, `/metrics` answers 404.
    pub metrics: Option<PrometheusText>,
}

/// Where a gateway listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayAddresses {
    /// The service.
    pub main: SocketAddr,
    /// Health and metrics.
    pub admin: Option<SocketAddr>,
}

/// HTTP and gRPC over one checker. Dropping it closes every connection at once; [`Gateway::drain`] does not.
#[derive(Debug)]
pub struct Gateway {
    app: App,
    addresses: GatewayAddresses,
    main: Port,
    admin: Option<Port>,
    _reload: OwnedTask,
}

/// A port that is served.
#[derive(Debug)]
struct Port {
    handle: Handle<SocketAddr>,
    ended: watch::Receiver<bool>,
    _serve: OwnedTask,
}

impl Gateway {
    /// Reads the files of keys, opens the ports and serves. A port of 0 in the configuration means any; see
    /// [`Gateway::addresses`].
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`]: an address that cannot be listened on, files of keys that hold none, or a service that
    /// others than this machine could use without credentials; [`Code::UNREADABLE_FILE`].
    pub async fn start(parts: GatewayParts, config: GatewayConfig) -> Result<Self, Problem> {
        config.validate()?;
        let (main, main_address) = listen("gateway.listen", &config.listen).await?;
        refuse_open_service(&config, main_address)?;
        let secrets = Secrets::read(&config).await?;
        let (tls, gate) = (secrets.tls(), Gate::new(limits(&config)));
        let GatewayParts { checker, async_checks, metrics } = parts;
        let health = HealthState::new(Probe::of(&checker), metrics);
        let app_parts = AppParts {
            checker,
            async_checks,
            health: health.clone(),
            config: config.clone(),
            auth: secrets.auth(),
            gate,
        };
        let app = App::new(app_parts);
        let (admin, admin_address) = if config.admin_listen.is_empty() {
            (None, None)
        } else {
            let (listener, address) = listen("gateway.admin_listen", &config.admin_listen).await?;
            (Some(Port::open(listener, admin_routes(&health), &config, None)), Some(address))
        };
        let main = Port::open(main, main_routes(&app), &config, tls);
        let addresses = GatewayAddresses { main: main_address, admin: admin_address };
        tracing::info!(main = %addresses.main, admin = ?addresses.admin, "the gateway serves");
        let reload = spawn_task(TaskKind::Reload, secrets.keep_fresh());
        Ok(Self { app, addresses, main, admin, _reload: reload })
    }

    /// Where it listens.
    pub fn addresses(&self) -> GatewayAddresses {
        self.addresses
    }

    /// Stops in good order: says that it is not ready, goes on serving for `gateway.drain_notice_ms`, takes no further
    /// connection and request, waits for those under way at most `gateway.drain_timeout_ms`, and closes.
    pub async fn drain(mut self) {
        let config = self.app.config().clone();
        self.app.begin_draining();
        let (in_flight_tokens, waiting_tokens) = self.app.gate().load();
        tracing::info!(in_flight_tokens, waiting_tokens, "the gateway stops");
        tokio::time::sleep(Duration::from_millis(config.drain_notice_ms)).await;
        self.app.begin_refusing();
        let timeout = Duration::from_millis(config.drain_timeout_ms);
        self.main.close(timeout).await;
        // Health is asked for until the end.
        if let Some(admin) = &mut self.admin {
            admin.close(ADMIN_DRAIN).await;
        }
    }
}

/// Health and metrics of a process that serves nothing else. Dropping it closes the port.
#[derive(Debug)]
pub struct Admin {
    state: HealthState,
    address: SocketAddr,
    _port: Port,
}

impl Admin {
    /// Serves `/livez`, `/readyz`, `/startupz` and `/metrics` on `gateway.admin_listen`; `None` where that is empty.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] for an address that cannot be listened on.
    pub async fn start(
        config: &GatewayConfig,
        probe: Probe,
        metrics: Option<PrometheusText>,
    ) -> Result<Option<Self>, Problem> {
        if config.admin_listen.is_empty() {
            return Ok(None);
        }
        let (listener, address) = listen("gateway.admin_listen", &config.admin_listen).await?;
        let state = HealthState::new(probe, metrics);
        let port = Port::open(listener, admin_routes(&state), config, None);
        Ok(Some(Self { state, address, _port: port }))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on the process is not ready.
    pub fn begin_draining(&self) {
        self.state.begin_draining();
    }
}

impl Port {
    fn open(
        listener: TcpListener,
        routes: Router,
        config: &GatewayConfig,
        tls: Option<RustlsConfig>,
    ) -> Self {
        let handle = Handle::new();
        let mut server = Server::from_listener(listener).handle(handle.clone());
        let head = Duration::from_millis(config.http.header_timeout_ms);
        let builder = server.http_builder();
        builder.http1().header_read_timeout(head);
        builder
            .http2()
            .keep_alive_interval(HTTP2_PING)
            .keep_alive_timeout(HTTP2_PING)
            .max_concurrent_streams(HTTP2_STREAMS)
            .max_header_list_size(HTTP2_HEADER_BYTES);
        let server = server.first_request_timeout(head);
        let acceptor = LimitedAcceptor::new(config.http.max_connections);
        let service = routes.into_make_service();
        let (sender, ended) = watch::channel(false);
        let serve = async move {
            let served = match tls {
                None => server.acceptor(acceptor).serve(service).await,
                Some(tls) => {
                    let encrypted = RustlsAcceptor::new(tls).handshake_timeout(head).acceptor(acceptor);
                    server.acceptor(encrypted).serve(service).await
                }
            };
            if let Err(error) = served {
                tracing::error!(%error, "a port is not served any more");
            }
            sender.send_replace(true);
        };
        Self { handle, ended, _serve: spawn_task(TaskKind::Serve, serve) }
    }

    async fn close(&mut self, timeout: Duration) {
        self.handle.graceful_shutdown(Some(timeout));
        // A task that is gone has ended too.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

async fn listen(option: &str, address: &str) -> Result<(TcpListener, SocketAddr), Problem> {
    let failed = |error: std::io::Error| {
        Problem::new(Code::INVALID_CONFIG, format!("cannot listen on {option} = {address}: {error}"))
    };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// A service without credentials is for this machine alone, unless somebody says otherwise.
fn refuse_open_service(config: &GatewayConfig, address: SocketAddr) -> Result<(), Problem> {
    let refuse = |message: &str| Err(Problem::new(Code::INVALID_CONFIG, message));
    if config.has_authentication() {
        return match config.allow_anonymous {
            true => refuse("gateway.allow_anonymous is true although keys are configured; set one of them"),
            false => Ok(()),
        };
    }
    if config.allow_anonymous || address.ip().is_loopback() {
        return Ok(());
    }
    refuse(
        "gateway.listen is open to other machines and callers need no credentials; set gateway.keys_file or \
         gateway.jwt, or gateway.allow_anonymous = true where everybody who can connect may use it",
    )
}

fn limits(config: &GatewayConfig) -> GatewayLimits {
    GatewayLimits {
        in_flight_tokens: config.admission.in_flight_tokens,
        line_places: config.reward.concurrency,
        waiting_tokens: config.reward.max_waiting_tokens,
    }
}

#[cfg(test)]
mod tests;
