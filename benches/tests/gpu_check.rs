//! `gpu-check` from its first part to its last where there is no GPU: on the stand-in for NVIDIA's driver (kernels/host/driver.cpp), in
//! tiny sizes.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a scenario that cannot go on has failed")]

use groundline_testkit::build_gpu_driver;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PARTS: [&str; 8] =
    ["conformance", "kernels", "steps", "gelu", "model", "attention", "throughput", "peers"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What `cargo xtask gpu-check --pack` makes, but with a model of some kilobytes in place of groundline-mini; the driver's stand-in in
/// `driver`, and cublasLt's in a toolkit that the dynamic linker does not know.
fn packed(folder: &Path) {
    let library = folder.join("kernels.so");
    build_gpu_driver(&library);
    for (place, name) in [("driver", "libcuda.so.1"), ("toolkit/lib64", "libcublasLt.so.13")] {
        std::fs::create_dir_all(folder.join(place)).unwrap();
        std::fs::hard_link(&library, folder.join(place).join(name)).unwrap();
    }
    let checkpoint = root().join("tests/golden/checkpoints/deberta-v3-like");
    std::fs::create_dir(folder.join("model")).unwrap();
    for entry in std::fs::read_dir(checkpoint).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.join("model").join(path.file_name().unwrap())).unwrap();
    }
    for (from, to) in
        [("benches/data/pairs.jsonl.gz", "pairs.jsonl.gz"), ("benches/peers/gpu_torch.py", "gpu_torch.py")]
    {
        std::fs::copy(root().join(from), folder.join(to)).unwrap();
    }
}

/// Runs it with no program but itself on the path, so that there is no Python on any machine.
fn gpu_check(folder: &Path, toolkit: &str) -> (Output, PathBuf) {
    let findings = folder.join("found.json");
    let output = Command::new(env!("CARGO_BIN_EXE_gpu-check"))
        .arg("--rehearsal")
        .arg("--folder")
        .arg(folder)
        .arg("--output")
        .arg(&findings)
        .env("LD_LIBRARY_PATH", folder.join("driver"))
        .env("CUDA_HOME", folder.join(toolkit))
        .env("PATH", folder.join("driver"))
        .output()
        .unwrap();
    (output, findings)
}

#[test]
fn the_whole_check_is_rehearsed_on_a_stand_in() {
    let folder = tempfile::tempdir().unwrap();
    packed(folder.path());
    without_the_library_of_products_it_says_where_it_was_looked_for_and_ends_with_status_4(folder.path());
    every_part_runs_and_says_what_it_found(folder.path());
}

fn every_part_runs_and_says_what_it_found(folder: &Path) {
    let (output, findings) = gpu_check(folder, "toolkit");
    let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}");
    let found: Value = serde_json::from_slice(&std::fs::read(findings).unwrap()).unwrap();
    assert!(found["all_right"] == true && found["rehearsal"] == true, "{found:#}");
    assert!(found["device"].as_str().unwrap().contains("a fake"), "{found:#}");
    let added = found["libraries"]["added"].as_array().unwrap();
    assert!(added[0].as_str().unwrap().ends_with("toolkit/lib64"), "{added:?}");
    for part in PARTS {
        let part = &found[part];
        assert!(
            part.is_object() && part.get("error").is_none() && part.get("left_out").is_none(),
            "{found:#}"
        );
    }
    let wrappers = found["conformance"].as_object().unwrap();
    assert!(wrappers.len() > 12 && wrappers.values().all(|it| it["different"] == 0), "{found:#}");
    let kernels = found["kernels"].as_object().unwrap();
    assert!(kernels.len() > 28 && kernels["attention_plain_d64_bias"]["launches"].as_u64().unwrap() > 2);
    assert_eq!(found["steps"].as_object().unwrap().len(), 8);
    assert!(found["model"]["golden"].is_object(), "{found:#}");
    assert!(found["attention"]["64"]["attention_disentangled_d64_resident"].is_number(), "{found:#}");
    for shape in ["large", "base", "small", "xsmall", "mini"] {
        for lengths in ["128", "mixed"] {
            let figures = &found["throughput"][format!("{shape} {lengths}")];
            assert!(figures["pairs_per_second"].is_number(), "{found:#}");
        }
    }
    // No Python here: said, and no fault.
    assert!(found["peers"]["not_measured"].as_str().unwrap().starts_with("python3: "), "{found:#}");
    let verdict = &found["verdict"]["three_times_transformers_on_mixed_lengths"];
    assert!(verdict.as_str().unwrap().starts_with("not judged"), "{found:#}");
    assert!(!folder.join("found.part").try_exists().unwrap());
}

fn without_the_library_of_products_it_says_where_it_was_looked_for_and_ends_with_status_4(folder: &Path) {
    let (output, findings) = gpu_check(folder, "no-toolkit");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{complained}");
    assert!(
        complained.contains("libcublasLt.so.13") && complained.contains("no-toolkit/lib64"),
        "{complained}"
    );
    assert!(!findings.try_exists().unwrap());
}
