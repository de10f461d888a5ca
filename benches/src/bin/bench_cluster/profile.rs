//! Where the time goes: samples of all processes by `perf`, where the machine has it, summed by what the code belongs to.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Samples a second on each core: enough for shares, few enough to disturb nothing.
const SAMPLES_PER_SECOND: &str = "499";

/// What a symbol belongs to, by its beginning; the first that fits counts.
const GROUPS: [(&str, &str); 31] = [
    ("groundline_claims", "splitting into sentences and claims"),
    ("groundline_evidence", "windows and nearness"),
    ("groundline_detectors", "methods"),
    ("groundline_verdict", "verdict"),
    ("groundline_coordinator", "coordinator"),
    ("groundline_worker", "worker"),
    ("groundline_bus", "bus"),
    ("groundline_gateway", "gateway"),
    ("groundline_telemetry", "telemetry"),
    ("opentelemetry", "telemetry"),
    ("tracing", "telemetry"),
    ("prometheus", "telemetry"),
    ("groundline_types", "requests and results"),
    ("groundline_inference", "tokenizer"),
    ("tokenizers", "tokenizer"),
    ("groundline_actors", "actors"),
    ("ractor", "actors"),
    ("blake3", "hashes of pairs"),
    ("serde_json", "JSON"),
    ("serde", "JSON"),
    ("ryu", "JSON"),
    ("zmij", "JSON"),
    ("async_nats", "NATS client"),
    ("prost", "protobuf"),
    ("hyper", "HTTP"),
    ("axum", "HTTP"),
    ("tower", "HTTP"),
    ("http", "HTTP"),
    ("httparse", "HTTP"),
    ("tokio", "tokio"),
    ("bench_cluster", "the load itself"),
];

/// Sampling that runs.
#[derive(Debug)]
pub(crate) struct Sampler {
    perf: Child,
    folder: tempfile::TempDir,
}

/// Shares of samples, the largest first: (process, what, share of all).
pub(crate) type Shares = Vec<(String, String, f64)>;

impl Sampler {
    /// Begins to sample these processes, for so long; `None` where `perf` is not there or may not.
    pub(crate) fn start(processes: &[(String, u32)], time: Duration) -> Option<Self> {
        let folder = tempfile::tempdir().ok()?;
        let pids = processes.iter().map(|(_, pid)| pid.to_string()).collect::<Vec<_>>().join(",");
        let mut command = Command::new("perf");
        command.args(["record", "--quiet", "-F", SAMPLES_PER_SECOND, "-e", "cpu-clock", "-p", &pids, "-o"]);
        command.arg(folder.path().join("perf.data")).args(["--", "sleep", &time.as_secs_f64().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Some(Self { perf: command.spawn().ok()?, folder })
    }

    /// Waits for the end of sampling and sums up. Empty where nothing was sampled.
    pub(crate) fn finish(mut self, processes: &[(String, u32)]) -> Shares {
        let _ = self.perf.wait();
        let mut script = Command::new("perf");
        script.args(["script", "-F", "pid,ip,sym,dso", "-i"]).arg(self.folder.path().join("perf.data"));
        let Ok(output) = script.stderr(Stdio::null()).output() else { return Shares::new() };
        let text = String::from_utf8_lossy(&output.stdout);
        let mut counts = BTreeMap::<(String, String), u64>::new();
        for (pid, what) in text.lines().filter_map(read_sample) {
            let process = processes.iter().find(|(_, known)| *known == pid);
            let process = process.map_or_else(|| pid.to_string(), |(name, _)| name.clone());
            *counts.entry((process, what.to_owned())).or_default() += 1;
        }
        let all = counts.values().sum::<u64>().max(1) as f64;
        let mut shares = counts
            .into_iter()
            .map(|((process, what), count)| (process, what, count as f64 / all))
            .collect::<Shares>();
        shares.sort_by(|a, b| b.2.total_cmp(&a.2));
        shares
    }
}

/// The process of a sample, and what it was doing: `1234 ffff… symbol (file)`.
fn read_sample(line: &str) -> Option<(u32, &'static str)> {
    let (pid, rest) = line.trim().split_once(char::is_whitespace)?;
    let (_address, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (symbol, file) = rest.rsplit_once(" (")?;
    Some((pid.parse().ok()?, group_of(symbol, file)))
}

fn group_of(symbol: &str, file: &str) -> &'static str {
    if file.contains("kernel") || file.contains("[guest") {
        return "the system: network, threads, clocks";
    }
    // `<tokio::runtime::task as core::future::Future>::poll` belongs to tokio.
    let name = symbol.trim_start_matches(['<', '&', ' ']);
    if let Some((_, group)) = GROUPS.iter().find(|(prefix, _)| name.starts_with(prefix)) {
        return group;
    }
    if file.contains("nats-server") {
        return "broker";
    }
    if ["malloc", "free", "realloc", "calloc", "_int_", "cfree", "mem", "__mem", "unlink_chunk"]
        .iter()
        .any(|prefix| name.trim_start_matches("__libc_").starts_with(prefix))
    {
        return "memory";
    }
    if name.starts_with("alloc::") || name.starts_with("core::") || name.starts_with("std::") {
        return "standard library";
    }
    "other"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_told_apart_by_crate_and_file() {
        let cases = [
            (
                " 12     55d0 groundline_claims::split::split (/t/groundline)",
                "splitting into sentences and claims",
            ),
            ("12 55d0 <tokio::x as core::y>::poll (/t/groundline)", "tokio"),
            ("12 ffff _raw_spin_unlock ([kernel.kallsyms])", "the system: network, threads, clocks"),
            ("12 55d0 runtime.mallocgc (/t/nats-server)", "broker"),
            ("12 7f00 malloc (/usr/lib/libc.so.6)", "memory"),
            ("12 7f00 alloc::raw_vec::grow (/t/groundline)", "standard library"),
        ];
        for (line, what) in cases {
            assert_eq!(read_sample(line), Some((12, what)), "{line}");
        }
        assert_eq!(read_sample("nothing of the kind"), None);
    }
}
