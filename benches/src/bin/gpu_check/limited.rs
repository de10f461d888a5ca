//! A process that must end in time.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// How often it is looked whether the process has ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Runs a command to its end, or for `limit`: then it is ended, and there is no status.
///
/// # Errors
/// Where it cannot be started.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let (mut child, started) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_hangs_is_ended_when_its_time_is_up_and_another_tells_its_status() {
        let started = Instant::now();
        let hangs = run(Command::new("sleep").arg("60"), Duration::from_millis(200)).unwrap();
        assert!(hangs.is_none() && started.elapsed() < Duration::from_secs(20));
        let ends = run(Command::new("sh").args(["-c", "exit 3"]), Duration::from_secs(30)).unwrap();
        assert_eq!(ends.and_then(|status| status.code()), Some(3));
        assert!(run(&mut Command::new("no-such-program"), Duration::from_secs(1)).is_err());
    }
}
