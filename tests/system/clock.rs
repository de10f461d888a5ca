//! Machines whose clocks are wrong.

use groundline_testkit::{NatsServer, tiny_model_dir};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use system_tests::role::{Role, cluster_toml, http};
use system_tests::{file, groundline};

const TEXT: &str = "The crate holds the list.";

/// A library that a process is started with, and that moves its wall clock. Nothing else moves: timers use another clock.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    const char *ahead = getenv("CLOCK_AHEAD_SECONDS");
    if (!failed && clock == CLOCK_REALTIME && ahead) {
        now->tv_sec += atol(ahead);
    }
    return failed;
}
"#;

fn build_shim(folder: &Path) -> PathBuf {
    let source = file(folder, "clock.c", SHIM);
    let shim = folder.join("clock.so");
    let status = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(source).status();
    assert!(status.unwrap().success(), "the C compiler that the build needs too cannot build this");
    shim
}

#[test]
fn a_clock_that_is_an_hour_wrong_makes_nothing_late_and_nothing_fresh() {
    let folder = tempfile::tempdir().unwrap();
    let (shim, model) = (build_shim(folder.path()), tiny_model_dir().unwrap());
    let server = NatsServer::start();
    let config = file(folder.path(), "groundline.toml", cluster_toml(model.path(), ""));
    let start = |role: &str, number: i32, ahead_seconds: i32| {
        let nats = server.url();
        let mut arguments = vec![role, "--config", &config, "--nats", &nats];
        arguments.extend(match role {
            "gateway" => ["--listen", "127.0.0.1:0", "--admin-listen", ""].as_slice(),
            _ => ["--admin-listen", "127.0.0.1:0"].as_slice(),
        });
        let mut command = groundline(&arguments);
        command.env("LD_PRELOAD", &shim).env("CLOCK_AHEAD_SECONDS", ahead_seconds.to_string());
        Role::start(command, &folder.path().join(format!("{role}-{number}.log"))).unwrap()
    };
    for (number, hours) in [(1, 1), (2, -1)] {
        let gateway = start("gateway", number, hours * 3600);
        let worker = start("worker", number, -hours * 3600);
        let body = json!({"source": TEXT, "response": TEXT, "deadline_ms": 10_000}).to_string();
        let (status, result) =
            http(&gateway.address, "POST /v1/check", "", &body, Duration::from_secs(20)).unwrap();
        assert_eq!((status, &result["coverage"]), (200, &json!(1.0)), "{result}");
        for role in [&gateway, &worker] {
            assert!(
                role.log().contains("the broker's clock is not ours"),
                "the clock is right: {}",
                role.log()
            );
        }
    }
}
