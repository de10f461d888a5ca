//! A GPU that is not there, and one that is lost: processes as an operator runs them, the second on the stand-in for NVIDIA's driver
//! (kernels/host/driver.cpp).

use groundline::DeviceChoice;
use groundline_inference::find_gpus;
use groundline_testkit::build_gpu_driver;
use serde_json::json;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use system_tests::groundline;
use system_tests::role::{Role, http};

/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);
const MODEL: &str = "tests/golden/checkpoints/deberta-v3-like";
/// What the driver answers when an address was illegal: the context does not survive it.
const ILLEGAL_ADDRESS: i32 = 700;
/// What ends a process whose device is lost.
const EXIT_DEVICE_LOST: i32 = 75;

fn serve(device: DeviceChoice) -> Command {
    let device = device.to_string();
    groundline(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin-listen",
        "127.0.0.1:0",
        "--model",
        MODEL,
        "--device",
        &device,
    ])
}

/// The stand-in under the names by which the engine looks for the driver and for cublasLt.
fn stand_in(folder: &Path) {
    let library = folder.join("libcuda.so.1");
    build_gpu_driver(&library);
    std::fs::hard_link(&library, folder.join("libcublasLt.so.13")).unwrap();
}

/// The count of fallbacks on the page of metrics, by the line's text.
fn fallbacks(role: &Role) -> Option<String> {
    let log = role.log();
    let (_, rest) = log.split_once("health and metrics at http://").expect("the log names the admin port");
    let address = rest.lines().next().unwrap().trim();
    let page = page(address);
    page.lines().find(|line| line.starts_with("groundline_device_fallbacks_total{")).map(str::to_owned)
}

fn page(address: &str) -> String {
    use std::io::{Read as _, Write as _};
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).unwrap();
    page
}

#[test]
fn a_gpu_that_is_missing_where_any_device_will_do_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let role = Role::start(serve(DeviceChoice::Auto), &folder.path().join("auto.log")).unwrap();
    let counted = fallbacks(&role);
    match find_gpus() {
        Ok(_) => assert_eq!(counted, None),
        Err(why) => {
            let counted = counted.expect("a count of fallbacks");
            assert!(
                counted.contains(&format!("code=\"{}\"", why.code)) && counted.ends_with(" 1"),
                "{counted}"
            );
        }
    }
    drop(role);
    let role = Role::start(serve(DeviceChoice::Cpu), &folder.path().join("cpu.log")).unwrap();
    assert_eq!(fallbacks(&role), None, "the processor was asked for");
}

#[test]
fn a_process_whose_gpu_is_lost_ends_with_status_75() {
    let folder = tempfile::tempdir().unwrap();
    stand_in(folder.path());
    let mut command = serve(DeviceChoice::Cuda(0));
    command.env("LD_LIBRARY_PATH", folder.path());
    // The first pass is the engine's own; from the third on, the device is gone.
    command.env("FAKE_FAULT", format!("cuEventSynchronize:2:{ILLEGAL_ADDRESS}"));
    let mut role = Role::start(command, &folder.path().join("log")).unwrap();
    assert!(role.log().contains("a fake") || fallbacks(&role).is_none(), "{}", role.log());
    let give_up = Instant::now() + PATIENCE;
    let mut asked = 0;
    while !role.has_ended() {
        assert!(Instant::now() < give_up, "{}", role.log());
        asked += 1;
        let text = format!("Marie Curie was born in Warsaw in {}.", 1800 + asked);
        let body = json!({"source": text, "response": text}).to_string();
        // What is under way when the device goes is answered with a problem, or not any more.
        let _ = http(&role.address, "POST /v1/check", "", &body, PATIENCE);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(role.ended(PATIENCE).unwrap(), EXIT_DEVICE_LOST, "{}", role.log());
    assert!(asked >= 1);
}
