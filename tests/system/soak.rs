//! A cluster under load for some seconds: nothing that should stay as it is grows. `cargo xtask bench-cluster soak` goes on for longer.

use groundline_testkit::{NatsServer, NatsVersion};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use system_tests::cluster::{Load, WorkerProcess, coordinator};
use tokio::time::sleep;

const CALLERS: usize = 12;
/// What the caches of the answered and the allocators of three processes take in their first seconds.
const WARM_UP: Duration = Duration::from_secs(8);
const WATCHED: Duration = Duration::from_secs(14);
/// Handles that come and go: a connection to the broker, a file that is being read.
const SPARE_HANDLES: usize = 4;
/// A leak of a kilobyte a check would be more within the time that is watched.
const SPARE_BYTES: u64 = 8 << 20;

/// Memory and open files of a process.
fn usage(pid: u32) -> (u64, usize) {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kilobytes: u64 = resident.split_whitespace().next().unwrap().parse().unwrap();
    (kilobytes * 1024, std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count())
}

/// What the broker says of itself.
fn monitored(address: SocketAddr, page: &str) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(format!("GET {page} HTTP/1.0\r\nhost: x\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// Connections, streams and consumers.
fn held_by_broker(address: SocketAddr) -> [Option<u64>; 3] {
    let (server, streams) = (monitored(address, "/varz"), monitored(address, "/jsz"));
    [&server["connections"], &streams["streams"], &streams["consumers"]].map(Value::as_u64)
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_handles_and_streams_stay_as_they_are_under_load() {
    // A port that was free a moment ago; the broker cannot be asked which one it took for this.
    let monitoring = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = NatsServer::start_with(NatsVersion::of_tests(), &format!("http: \"{monitoring}\""));
    let workers = [0, 1].map(|_| WorkerProcess::start(&server, Duration::from_millis(5)));
    let (_bus, coordinator) = coordinator(&server).await;
    let load = Load::start(&coordinator, CALLERS);
    // Other tests may run in this process, so that it says nothing of the coordinator here.
    let pids = [workers[0].pid(), workers[1].pid()];

    sleep(WARM_UP).await;
    let (before, broker_before) = (pids.map(usage), held_by_broker(monitoring));
    sleep(WATCHED).await;
    let (after, broker_after) = (pids.map(usage), held_by_broker(monitoring));

    let (answered, _) = load.expect_all_whole().await;
    assert!(answered > CALLERS, "only {answered} checks were answered");
    for ((bytes_before, handles_before), (bytes, handles)) in before.into_iter().zip(after) {
        assert!(bytes <= bytes_before + SPARE_BYTES, "a worker grew from {bytes_before} to {bytes} bytes");
        assert!(
            handles <= handles_before + SPARE_HANDLES,
            "a worker had {handles_before} handles, then {handles}"
        );
    }
    assert_eq!(broker_before, broker_after, "connections, streams, consumers");
    let give_up = tokio::time::Instant::now() + Duration::from_secs(30);
    while monitored(monitoring, "/jsz")["messages"] != 0 {
        assert!(tokio::time::Instant::now() < give_up, "{}", monitored(monitoring, "/jsz?streams=true"));
        sleep(Duration::from_millis(100)).await;
    }
}
