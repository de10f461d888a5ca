//! A role of the `groundline` command, or a worker with faults, as a process with a log of its own.

use serde_json::Value;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to say that it is up.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// What stands before the address in the line that says where a process listens.
const ADDRESS_MARK: &str = " at http://";

/// A process. Dropping it kills it.
#[derive(Debug)]
pub struct Role {
    child: Child,
    /// Where its service listens; for roles without one, its health.
    pub address: String,
    log: PathBuf,
}

impl Role {
    /// Starts a command whose output is appended to `log`, and does not wait for it.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn spawn(mut command: Command, log: &Path) -> Result<Self> {
        let file = File::options().create(true).append(true).open(log)?;
        let child = command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file).spawn()?;
        Ok(Self { child, address: String::new(), log: log.to_owned() })
    }

    /// Starts a command whose output is appended to `log`, and waits until that says where it listens.
    ///
    /// # Errors
    /// Where it cannot be started, ends, or says nothing in time; with the end of its log.
    pub fn start(command: Command, log: &Path) -> Result<Self> {
        let begin = std::fs::metadata(log).map_or(0, |metadata| metadata.len() as usize);
        let mut role = Self::spawn(command, log)?;
        let give_up = Instant::now() + START_PATIENCE;
        loop {
            let told = role.log().get(begin..).unwrap_or_default().to_owned();
            let mut whole_lines = told.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            if let Some((_, address)) = whole_lines.find_map(|line| line.split_once(ADDRESS_MARK)) {
                address.trim().clone_into(&mut role.address);
                return Ok(role);
            }
            if role.has_ended() || Instant::now() > give_up {
                return Err(Error::new(ErrorKind::TimedOut, format!("it does not come up: {told}")));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Everything that it has logged, under this name.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal, such as `KILL`, `TERM`, `STOP` or `CONT`.
    ///
    /// # Errors
    /// Where it cannot be sent.
    pub fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).stderr(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(Error::other(format!("cannot send {name} to {pid}"))) }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Waits for its end: its exit status, -1 where a signal ended it.
    ///
    /// # Errors
    /// Where it goes on for longer than `patience`.
    pub fn ended(&mut self, patience: Duration) -> Result<i32> {
        let give_up = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status.code().unwrap_or(-1));
            }
            if Instant::now() > give_up {
                return Err(Error::new(ErrorKind::TimedOut, "it does not end"));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        // One that has ended already cannot be killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request over a connection of its own: status and body, null where that is no JSON.
///
/// # Errors
/// Where the connection fails or nothing comes within `patience`.
pub fn http(
    address: &str,
    line: &str,
    headers: &str,
    body: &str,
    patience: Duration,
) -> Result<(u16, Value)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(patience))?;
    let length = body.len();
    let head = "host: x\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let request = format!("{line} HTTP/1.1\r\n{head}content-length: {length}\r\n{headers}\r\n{body}");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| Error::new(ErrorKind::UnexpectedEof, "the answer has no status"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let body = if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        without_chunks(body)
    } else {
        body.to_owned()
    };
    Ok((status, serde_json::from_str(&body).unwrap_or_default()))
}

/// A body that comes in chunks, each after its length in hexadecimal; what is malformed ends it.
fn without_chunks(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap_or(0);
        let Some((chunk, rest)) = rest.split_at_checked(length).filter(|_| length > 0) else { break };
        whole.push_str(chunk);
        body = rest.trim_start_matches("\r\n");
    }
    whole
}

/// A configuration for a role of a test's cluster: its model, and streams as every other process of the cluster has them.
/// `sections` holds further sections.
pub fn cluster_toml(model: &Path, sections: &str) -> String {
    let nats = crate::cluster::nats_options("");
    let model = Value::from(model.to_string_lossy().into_owned());
    format!(
        "[model]\nname = {model}\n[engine]\nthreads = 1\n[cache]\nbytes = 0\n[nats]\nack_wait_online_ms = {}\n\
         max_job_bytes_total = {}\nmax_dead_bytes_total = {}\nmax_check_bytes_total = {}\nmax_body_bytes_total = {}\n\
         max_answer_bytes_total = {}\n{sections}",
        nats.ack_wait_online_ms,
        nats.max_job_bytes_total,
        nats.max_dead_bytes_total,
        nats.max_check_bytes_total,
        nats.max_body_bytes_total,
        nats.max_answer_bytes_total,
    )
}
