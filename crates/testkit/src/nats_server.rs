//! A real NATS server on this machine, for tests.

mod binary;
mod cluster;

pub use binary::{NEWEST_NATS, NatsVersion};
pub use cluster::NatsCluster;

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a server may take to answer.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// Lines of a server's log that are shown where a test fails.
const SHOWN_LOG_LINES: usize = 60;
/// What the streams may hold together. Said outright, as the server's own choice is a part of what is free on the disk, so that
/// a test would depend on it.
const MAX_STORE: &str = "64GB";

/// A server with JetStream on a port of its own, with a store folder of its own. Dropping it kills it; where the test is
/// failing then, the end of its log is shown.
#[derive(Debug)]
pub struct NatsServer {
    child: Option<Child>,
    binary: PathBuf,
    folder: TempDir,
    port: u16,
    extra_config: String,
}

impl NatsServer {
    /// Starts a server of the version that [`NatsVersion::of_tests`] says.
    ///
    /// # Panics
    ///
    /// Where no server can be found or got, or where it does not start: a test that needs one must not pass without.
    pub fn start() -> Self {
        Self::start_with(NatsVersion::of_tests(), "")
    }

    /// Starts a server of a version, with further lines for its configuration.
    ///
    /// # Panics
    ///
    /// Like [`start`](Self::start).
    pub fn start_with(version: NatsVersion, extra_config: &str) -> Self {
        let binary = version.binary();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut server = Self { child: None, binary, folder, port: 0, extra_config: extra_config.to_owned() };
        server.run();
        server
    }

    /// Where to connect, such as `nats://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// The port, which stays the same over restarts.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends it as a crash would, with nothing written or said.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("a child of ours can be killed");
            child.wait().expect("a child of ours can be waited for");
        }
    }

    /// Tells it to stop as an operator does before an update: it takes no new connection, gives its streams to other servers of its
    /// cluster, sends its clients away one after the other, and ends.
    ///
    /// # Panics
    ///
    /// Where it does not run.
    pub fn begin_lame_duck(&self) {
        let pid = self.pid().expect("the server runs");
        let sent = Command::new("kill").args(["-USR2", &pid.to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "the server cannot be told");
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    ///
    /// Where it does not within `patience`.
    pub fn wait_for_end(&mut self, patience: Duration) {
        let give_up = Instant::now() + patience;
        while let Some(child) = &mut self.child {
            if child.try_wait().expect("a child of ours can be waited for").is_some() {
                self.child = None;
                return;
            }
            assert!(Instant::now() < give_up, "the server does not end; its log:\n{}", self.log());
            std::thread::sleep(PAUSE);
        }
    }

    /// Starts it again on the same port and the same store.
    ///
    /// # Panics
    ///
    /// Where it runs already, or does not start.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "the server runs already");
        self.run();
    }

    /// Deletes everything that a stopped server has stored.
    ///
    /// # Panics
    ///
    /// Where it runs.
    pub fn wipe(&mut self) {
        assert!(self.child.is_none(), "the server runs");
        let store = self.folder.path().join("store");
        std::fs::remove_dir_all(&store).expect("the store can be deleted");
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn run(&mut self) {
        // The first time any port will do, and the server says which.
        let port = if self.port == 0 { "-1".to_owned() } else { self.port.to_string() };
        let folder = self.folder.path();
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\nlog_file: {:?}\nports_file_dir: {folder:?}\njetstream {{ store_dir: {:?}, max_file_store: {MAX_STORE} }}\n{}\n",
            self.log_file(),
            folder.join("store"),
            self.extra_config
        );
        let config_file = folder.join("nats.conf");
        std::fs::write(&config_file, config).expect("a temporary folder can be written");
        let mut command = Command::new(&self.binary);
        command.arg("-c").arg(&config_file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.binary));
        let pid = child.id();
        self.child = Some(child);
        let give_up = Instant::now() + START_PATIENCE;
        while !self.answers(pid) {
            let child = self.child.as_mut().expect("it was just started");
            if let Ok(Some(status)) = child.try_wait() {
                panic!("the NATS server ended with {status}; its log:\n{}", self.log());
            }
            assert!(Instant::now() < give_up, "the NATS server does not answer; its log:\n{}", self.log());
            std::thread::sleep(PAUSE);
        }
    }

    /// Whether the server greets who connects. Learns the port on the way.
    fn answers(&mut self, pid: u32) -> bool {
        if self.port == 0 {
            let name = self.binary.file_name().unwrap_or_default().to_string_lossy();
            let file = self.folder.path().join(format!("{name}_{pid}.ports"));
            let Some(port) = std::fs::read_to_string(file).ok().as_deref().and_then(port_of) else {
                return false;
            };
            self.port = port;
        }
        let Ok(stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let _ = stream.set_read_timeout(Some(Duration::from_secs(1)));
        let mut line = String::new();
        let read = BufReader::new(stream).read_line(&mut line);
        read.is_ok() && line.starts_with("INFO") && line.contains("\"jetstream\":true")
    }
}

/// The first client port in what the server writes about its ports.
fn port_of(text: &str) -> Option<u16> {
    let ports: serde_json::Value = serde_json::from_str(text).ok()?;
    let url = ports["nats"].as_array()?.iter().filter_map(|url| url.as_str()).next()?;
    url.rsplit(':').next()?.parse().ok()
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            let log = self.log();
            let lines = log.lines().collect::<Vec<_>>();
            let end = &lines[lines.len().saturating_sub(SHOWN_LOG_LINES)..];
            eprintln!("the end of the log of {}:\n{}", show(&self.binary), end.join("\n"));
        }
    }
}

fn show(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests;
