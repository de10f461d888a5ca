//! A stand-in for NVIDIA's driver and its library of products, which runs the kernels as a program of the processor.

use std::path::Path;
use std::process::Command;

const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];

/// Compiles `kernels/host/driver.cpp` with the kernels' host twins to `library`, which answers for `libcuda.so.1` and for
/// `libcublasLt.so.13` where it lies under these names.
///
/// # Panics
/// Without a C++ compiler, or where the sources do not compile.
pub fn build_gpu_driver(library: &Path) {
    let host = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/host"));
    let answers =
        |name: &str| Command::new(name).arg("--version").output().is_ok_and(|it| it.status.success());
    let compiler = COMPILERS.iter().find(|name| answers(name)).expect("a C++ compiler; install one");
    let mut command = Command::new(compiler);
    command.args(["-std=c++20", "-O2", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared"]);
    if cfg!(target_arch = "x86_64") {
        command.args(["-mavx2", "-mfma", "-mf16c"]);
    }
    command.args(["dispatch.cpp", "shim.cpp", "driver.cpp"].map(|source| host.join(source)));
    let output = command.arg("-o").arg(library).output().expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
