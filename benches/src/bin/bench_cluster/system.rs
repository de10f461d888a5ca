//! What the system says of processes: time, memory, open files.

use std::time::Instant;

/// Clock ticks of `/proc`, the same on every Linux that people run.
const TICKS_PER_SECOND: f64 = 100.0;

/// One process at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    /// Time on processors so far, in programs and in the system for them.
    pub(crate) cpu_seconds: f64,
    /// Memory in use now.
    pub(crate) resident_bytes: u64,
    /// Open files and sockets.
    pub(crate) handles: u64,
    pub(crate) threads: u64,
}

/// What a process uses now; `None` where it has ended.
pub(crate) fn usage(pid: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold spaces; what follows it does not.
    let fields = stat.rsplit_once(')')?.1.split_whitespace().collect::<Vec<_>>();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
    };
    Some(Usage {
        cpu_seconds: (ticks(11)? + ticks(12)?) / TICKS_PER_SECOND,
        resident_bytes: number("VmRSS")? * 1024,
        handles: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count() as u64,
        threads: number("Threads")?,
    })
}

/// Measures the processor time of processes over a span.
#[derive(Debug)]
pub(crate) struct CpuMeter {
    began: Instant,
    processes: Vec<(String, u32, f64)>,
}

/// Where processor time went: (process, cores used).
pub(crate) type CoresUsed = Vec<(String, f64)>;

impl CpuMeter {
    /// Begins now, for processes with a name and an id.
    pub(crate) fn start(processes: Vec<(String, u32)>) -> Self {
        let seconds = |pid: u32| usage(pid).unwrap_or_default().cpu_seconds;
        let processes = processes.into_iter().map(|(name, pid)| (name, pid, seconds(pid))).collect();
        Self { began: Instant::now(), processes }
    }

    /// Cores that each has used since, those of one name together.
    pub(crate) fn cores(&self) -> CoresUsed {
        let seconds = self.began.elapsed().as_secs_f64();
        let mut used = CoresUsed::new();
        for (name, pid, before) in &self.processes {
            let now = usage(*pid).map_or(*before, |usage| usage.cpu_seconds);
            let cores = (now - before) / seconds;
            match used.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += cores,
                None => used.push((name.clone(), cores)),
            }
        }
        used
    }
}

/// Cores that this process may use.
pub(crate) fn cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_memory_files_and_threads() {
        let mine = usage(std::process::id()).unwrap();
        assert!(mine.resident_bytes > 1 << 20 && mine.handles >= 3 && mine.threads >= 1, "{mine:?}");
        assert_eq!(usage(u32::MAX), None);
    }

    #[test]
    fn work_of_this_process_is_measured() {
        let meter = CpuMeter::start(vec![("me".to_owned(), std::process::id())]);
        let began = Instant::now();
        let mut sum = 0_u64;
        while began.elapsed().as_millis() < 200 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(meter.cores()[0].1 > 0.05, "{:?}", meter.cores());
    }
}
