//! The commands that serve: each a few parts put together, run until a signal or a failure, and stopped in good order.

mod dead;
mod doctor;
mod keys;
mod shutdown;

pub(crate) use dead::run as run_dead;
pub(crate) use doctor::run as run_doctor;
pub(crate) use keys::run as run_keys;

use crate::console::Console;
use crate::failure::{EXIT_OK, Failure};
use groundline::{AsyncChecks, AsyncRunner, Checker, Config, WorkerNode};
use groundline_gateway::{Admin, Gateway, GatewayParts, Probe};
use groundline_telemetry::{PrometheusText, Telemetry};
use groundline_types::{Code, Problem};
use shutdown::Shutdown;
use std::sync::Arc;
use std::time::Duration;

/// Which part of a cluster a process plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Everything, in this process.
    Serve,
    /// HTTP and gRPC, with coordinator actors of its own.
    Gateway,
    /// Works through the durable queue of checks.
    Coordinator,
    /// One engine.
    Worker,
}

impl Role {
    /// As it is called in telemetry.
    fn name(self) -> &'static str {
        match self {
            Role::Serve => "serve",
            Role::Gateway => "gateway",
            Role::Coordinator => "coordinator",
            Role::Worker => "worker",
        }
    }
}

/// Plays a role until a signal ends it (status 0) or it fails.
pub(crate) fn run(role: Role, config: Config, console: &mut Console) -> Result<u8, Failure> {
    let telemetry = Telemetry::start(&config.telemetry, role.name())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    let scraper = telemetry.scraper();
    let outcome = runtime.block_on(async {
        let shutdown = Shutdown::listen(&tokio::runtime::Handle::current())?;
        match role {
            Role::Serve => serve(config, scraper, shutdown, console).await,
            Role::Gateway => gateway(config, scraper, shutdown, console).await,
            Role::Coordinator => coordinator(config, scraper, shutdown, console).await,
            Role::Worker => worker(config, scraper, shutdown, console).await,
        }
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    telemetry.shutdown();
    outcome?;
    Ok(EXIT_OK)
}

async fn serve(
    config: Config,
    scraper: PrometheusText,
    shutdown: Shutdown,
    console: &mut Console,
) -> Result<(), Failure> {
    // Nothing else runs on this runtime yet, so that blocking it while the model loads harms nobody.
    let checker = tokio::task::block_in_place(|| Checker::embedded(config.clone()))?;
    checker.start().await?;
    let checks = AsyncChecks::in_memory(config.limits.request());
    front(Front { config, checker, checks, runs_queue: true, scraper }, shutdown, console).await
}

async fn gateway(
    config: Config,
    scraper: PrometheusText,
    shutdown: Shutdown,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(checker) = shutdown.unless_asked(Box::pin(connected(&config))).await? else { return Ok(()) };
    let checks = queue_of(&checker)?;
    front(Front { config, checker, checks, runs_queue: false, scraper }, shutdown, console).await
}

/// What a process with a service needs.
struct Front {
    config: Config,
    checker: Checker,
    checks: AsyncChecks,
    /// Whether this process also works through the queue of checks.
    runs_queue: bool,
    scraper: PrometheusText,
}

async fn front(front: Front, shutdown: Shutdown, console: &mut Console) -> Result<(), Failure> {
    let Front { config, checker, checks, runs_queue, scraper } = front;
    let slots = config.coordinator.queued_checks;
    let runner = runs_queue.then(|| AsyncRunner::start(checker.clone(), checks.clone(), slots));
    let parts = GatewayParts { checker: checker.clone(), async_checks: Some(checks), metrics: Some(scraper) };
    let gateway = Gateway::start(parts, config.gateway.clone()).await?;
    let addresses = gateway.addresses();
    let scheme = if config.gateway.tls.is_on() { "https" } else { "http" };
    console.tell(&format!("{} answers at {scheme}://{}", checker.facts().id.name, addresses.main));
    if let Some(admin) = addresses.admin {
        console.tell(&format!("health and metrics at http://{admin}"));
    }
    let ended = shutdown.wait_or(checker.failed()).await;
    gateway.drain().await;
    if let Some(runner) = runner {
        runner.drain(config.coordinator.stop_timeout()).await;
    }
    checker.shutdown().await;
    ended
}

async fn coordinator(
    config: Config,
    scraper: PrometheusText,
    shutdown: Shutdown,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(checker) = shutdown.unless_asked(Box::pin(connected(&config))).await? else { return Ok(()) };
    let checks = queue_of(&checker)?;
    let admin = Admin::start(&config.gateway, Probe::of(&checker), Some(scraper)).await?;
    let runner = AsyncRunner::start(checker.clone(), checks, config.coordinator.queued_checks);
    console.tell(&format!("coordinates checks with {}", checker.facts().id.name));
    say_admin(admin.as_ref(), console);
    let ended = shutdown.wait_or(checker.failed()).await;
    if let Some(admin) = &admin {
        admin.begin_draining();
    }
    runner.drain(config.coordinator.stop_timeout()).await;
    checker.shutdown().await;
    ended
}

async fn worker(
    config: Config,
    scraper: PrometheusText,
    shutdown: Shutdown,
    console: &mut Console,
) -> Result<(), Failure> {
    let Some(node) = shutdown.unless_asked(Box::pin(WorkerNode::connect(config.clone()))).await? else {
        return Ok(());
    };
    let node = Arc::new(node);
    let (for_components, for_readiness) = (Arc::clone(&node), Arc::clone(&node));
    let probe = Probe::new(move || for_components.components(), move || for_readiness.readiness());
    let probe = probe.noting(node.remarks().to_vec());
    let admin = Admin::start(&config.gateway, probe, Some(scraper)).await?;
    console.tell(&format!("scores for {} on {}", node.facts().id.name, node.engine_name()));
    say_admin(admin.as_ref(), console);
    let ended = shutdown.wait_or(node.failed()).await;
    if let Some(admin) = &admin {
        admin.begin_draining();
    }
    // The admin port holds clones, and answers until the end.
    node.drain().await;
    ended
}

/// A checker on the broker of a configuration, with its actors running.
async fn connected(config: &Config) -> Result<Checker, Problem> {
    let checker = Checker::connect(config.clone()).await?;
    checker.start().await?;
    Ok(checker)
}

/// A checker that is connected to a broker has a durable queue.
fn queue_of(checker: &Checker) -> Result<AsyncChecks, Problem> {
    AsyncChecks::of_cluster(checker).ok_or_else(|| Problem::new(Code::INTERNAL, "the checker has no broker"))
}

fn say_admin(admin: Option<&Admin>, console: &mut Console) {
    if let Some(admin) = admin {
        console.tell(&format!("health and metrics at http://{}", admin.address()));
    }
}
