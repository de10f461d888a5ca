//! Files of secrets: read at the start, and again when they change.

use crate::auth::{Authenticator, JwtKeys, KeySet};
use axum_server::tls_rustls::RustlsConfig;
use groundline::{GatewayConfig, GatewayTlsConfig};
use groundline_actors::{TaskKind, run_blocking};
use groundline_types::{Code, Problem};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Largest file of keys or certificates.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Files that belong together, and what they held when they were last looked at.
#[derive(Debug)]
struct Watched {
    name: &'static str,
    paths: Vec<PathBuf>,
    seen: Vec<Vec<u8>>,
    /// What was last wrong with them, so that it is said once.
    complaint: Option<String>,
}

impl Watched {
    /// What the files hold now, where that is something else than before. Contents are compared, not times: secrets that are
    /// mounted change by links, and clocks are coarse.
    async fn changed(&mut self) -> Option<Vec<Vec<u8>>> {
        match read_all(self.paths.clone()).await {
            Ok(contents) if contents == self.seen => {
                self.complaint = None;
                None
            }
            Ok(contents) => {
                self.seen.clone_from(&contents);
                Some(contents)
            }
            Err(problem) => {
                self.report(Err(problem));
                None
            }
        }
    }

    /// Says what came of a change: a bad one keeps what was there before, and is loud.
    fn report(&mut self, outcome: Result<(), Problem>) {
        match outcome {
            Ok(()) => {
                self.complaint = None;
                tracing::info!(files = self.name, "read again after a change");
            }
            Err(problem) if self.complaint.as_ref() != Some(&problem.message) => {
                tracing::error!(files = self.name, %problem, "cannot be used after a change; what was there before stays in force");
                self.complaint = Some(problem.message);
            }
            Err(_) => {}
        }
    }
}

/// Everything that is read again.
#[derive(Debug)]
pub(crate) struct Secrets {
    config: GatewayConfig,
    auth: Arc<Authenticator>,
    tls: Option<RustlsConfig>,
    keys_file: Option<Watched>,
    jwt_files: Option<Watched>,
    tls_files: Option<Watched>,
}

impl Secrets {
    /// Reads every file that the configuration names.
    ///
    /// # Errors
    /// [`Code::UNREADABLE_FILE`], [`Code::INVALID_CONFIG`].
    pub(crate) async fn read(config: &GatewayConfig) -> Result<Self, Problem> {
        let keys_file = watch("API keys", &[&config.keys_file]).await?;
        let keys = keys_file.as_ref().map(|files| parse_keys(&files.seen)).transpose()?;
        let jwt_files =
            watch("public keys of tokens", &[&config.jwt.public_key_file, &config.jwt.jwks_file]).await?;
        let jwt = jwt_files.as_ref().map(|files| parse_jwt(&files.seen, config)).transpose()?;
        let GatewayTlsConfig { cert_file, key_file } = &config.tls;
        let tls_files = watch("certificate", &[cert_file, key_file]).await?;
        let tls = match &tls_files {
            None => None,
            Some(files) => Some(new_tls(&files.seen).await?),
        };
        if let Some(keys) = &keys {
            tracing::info!(keys = keys.len(), "read the API keys");
        }
        let auth = Arc::new(Authenticator::new(keys, jwt, default_limits(config)));
        Ok(Self { config: config.clone(), auth, tls, keys_file, jwt_files, tls_files })
    }

    /// Who may call.
    pub(crate) fn auth(&self) -> Arc<Authenticator> {
        Arc::clone(&self.auth)
    }

    /// How the main port is encrypted.
    pub(crate) fn tls(&self) -> Option<RustlsConfig> {
        self.tls.clone()
    }

    /// Looks at the files again and again.
    pub(crate) async fn keep_fresh(mut self) {
        let every = Duration::from_millis(self.config.reload_every_ms);
        loop {
            tokio::time::sleep(every).await;
            self.look().await;
        }
    }

    async fn look(&mut self) {
        if let Some(files) = &mut self.keys_file
            && let Some(contents) = files.changed().await
        {
            files.report(parse_keys(&contents).map(|keys| self.auth.replace_keys(keys)));
        }
        if let Some(files) = &mut self.jwt_files
            && let Some(contents) = files.changed().await
        {
            files.report(parse_jwt(&contents, &self.config).map(|keys| self.auth.replace_jwt(keys)));
        }
        if let (Some(files), Some(tls)) = (&mut self.tls_files, &self.tls)
            && let Some(contents) = files.changed().await
        {
            let [cert, key] = pair(&contents);
            files.report(tls.reload_from_pem(cert, key).await.map_err(bad_certificate));
        }
    }
}

/// Reads files that belong together; `None` where no path is given. An empty path among others reads as nothing.
async fn watch(name: &'static str, paths: &[&PathBuf]) -> Result<Option<Watched>, Problem> {
    if paths.iter().all(|path| path.as_os_str().is_empty()) {
        return Ok(None);
    }
    let paths = paths.iter().map(|path| (*path).clone()).collect::<Vec<_>>();
    let seen = read_all(paths.clone()).await?;
    Ok(Some(Watched { name, paths, seen, complaint: None }))
}

/// The limits of a tenant that the keys file gives none.
pub(crate) fn default_limits(config: &GatewayConfig) -> crate::admission::TenantLimits {
    let admission = &config.admission;
    crate::admission::TenantLimits {
        in_flight_tokens: admission.tenant_in_flight_tokens,
        tokens_per_second: admission.tenant_tokens_per_second,
        burst_tokens: admission.tenant_burst_tokens,
    }
}

async fn read_all(paths: Vec<PathBuf>) -> Result<Vec<Vec<u8>>, Problem> {
    let read = move || paths.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>();
    let contents = run_blocking(TaskKind::Reload, read).await;
    contents.unwrap_or_else(|| Err(Problem::new(Code::INTERNAL, "reading a file failed")))
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    if path.as_os_str().is_empty() {
        return Ok(Vec::new());
    }
    let unreadable = |error: std::io::Error| {
        Problem::new(Code::UNREADABLE_FILE, format!("cannot read {}: {error}", path.display()))
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        let message = format!("{} has {size} bytes, the limit is {MAX_FILE_BYTES}", path.display());
        return Err(Problem::new(Code::TOO_LARGE, message));
    }
    std::fs::read(path).map_err(unreadable)
}

fn parse_keys(contents: &[Vec<u8>]) -> Result<KeySet, Problem> {
    let text = contents.first().map(Vec::as_slice).unwrap_or_default();
    let text = std::str::from_utf8(text)
        .map_err(|_| Problem::new(Code::INVALID_CONFIG, "keys file: it is not UTF-8"))?;
    KeySet::parse(text)
}

fn parse_jwt(contents: &[Vec<u8>], config: &GatewayConfig) -> Result<JwtKeys, Problem> {
    let [pem, jwks] = pair(contents);
    let given = |bytes: Vec<u8>, path: &PathBuf| (!path.as_os_str().is_empty()).then_some(bytes);
    let pem = given(pem, &config.jwt.public_key_file);
    let jwks = given(jwks, &config.jwt.jwks_file);
    JwtKeys::parse(pem.as_deref(), jwks.as_deref(), &config.jwt)
}

async fn new_tls(contents: &[Vec<u8>]) -> Result<RustlsConfig, Problem> {
    let [cert, key] = pair(contents);
    RustlsConfig::from_pem(cert, key).await.map_err(bad_certificate)
}

fn bad_certificate(error: std::io::Error) -> Problem {
    Problem::new(
        Code::INVALID_CONFIG,
        format!("gateway.tls: the certificate or its key cannot be used: {error}"),
    )
}

fn pair(contents: &[Vec<u8>]) -> [Vec<u8>; 2] {
    let at = |index: usize| contents.get(index).cloned().unwrap_or_default();
    [at(0), at(1)]
}

#[cfg(test)]
mod tests;
