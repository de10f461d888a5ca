//! Whether the libraries that were found are the ones that are wanted: the bindings would panic where a function is missing, and call one
//! of another version as if it were theirs.

use super::library::{DRIVER, DRIVER_ADVICE, PRODUCT_ADVICE, PRODUCTS, unavailable};
use cudarc::driver::sys;
use groundline_types::Problem;

/// What is called of the driver.
const DRIVER_FUNCTIONS: [&str; 39] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceTotalMem_v2",
    "cuDeviceGetAttribute",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuModuleGetFunction",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemHostAlloc",
    "cuMemFreeHost",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemsetD8Async",
    "cuStreamCreate",
    "cuStreamDestroy_v2",
    "cuStreamSynchronize",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuEventElapsedTime_v2",
];
/// And of the library of products.
const PRODUCT_FUNCTIONS: [&str; 13] = [
    "cublasLtGetVersion",
    "cublasLtCreate",
    "cublasLtDestroy",
    "cublasLtMatmulPreferenceCreate",
    "cublasLtMatmulPreferenceDestroy",
    "cublasLtMatmulPreferenceSetAttribute",
    "cublasLtMatrixLayoutCreate",
    "cublasLtMatrixLayoutDestroy",
    "cublasLtMatmulDescCreate",
    "cublasLtMatmulDescDestroy",
    "cublasLtMatmulDescSetAttribute",
    "cublasLtMatmulAlgoGetHeuristic",
    "cublasLtMatmul",
];
/// The library of products whose structures these bindings describe, and which the driver that the kernels need comes with.
const PRODUCT_MAJOR: usize = 13;

/// A library that was found and is not the one that is wanted.
fn unfit(library: &str, what: &str, advice: &str) -> Problem {
    unavailable(format!("CUDA cannot be used: the {library} that was found {what}; {advice}"))
}

/// The first of `functions` that a library lacks: the bindings would panic where it is called.
fn first_missing(functions: &[&'static str], has: impl Fn(&str) -> bool) -> Option<&'static str> {
    functions.iter().find(|name| !has(name)).copied()
}

/// Refuses a library of products of another version (130200 is 13.2).
fn check_version(version: usize) -> Result<(), Problem> {
    let (major, minor) = (version / 10_000, version / 100 % 100);
    if major == PRODUCT_MAJOR {
        return Ok(());
    }
    let what = format!("is version {major}.{minor}, and the engine is built for version {PRODUCT_MAJOR}");
    Err(unfit(PRODUCTS[1], &what, PRODUCT_ADVICE))
}

/// Whether the libraries have what is called of them. Both were found.
pub(super) fn check_functions() -> Result<(), Problem> {
    type Any = unsafe extern "C" fn();
    // SAFETY: both were just found; a name is looked up, and nothing is called.
    let in_driver = |name: &str| unsafe { sys::culib().get::<Any>(name.as_bytes()) }.is_ok();
    // SAFETY: the same.
    let in_products =
        |name: &str| unsafe { cudarc::cublaslt::sys::culib().get::<Any>(name.as_bytes()) }.is_ok();
    let lacks = |name: &str| format!("lacks the function {name}");
    if let Some(name) = first_missing(&DRIVER_FUNCTIONS, in_driver) {
        return Err(unfit(DRIVER[1], &lacks(name), DRIVER_ADVICE));
    }
    if let Some(name) = first_missing(&PRODUCT_FUNCTIONS, in_products) {
        return Err(unfit(PRODUCTS[1], &lacks(name), PRODUCT_ADVICE));
    }
    // SAFETY: it has the function, as just seen, which takes nothing.
    check_version(unsafe { cudarc::cublaslt::sys::cublasLtGetVersion() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::Code;

    #[test]
    fn a_library_of_another_version_or_without_a_function_is_refused_with_what_to_do() {
        assert!(check_version(130_000).is_ok() && check_version(130_401).is_ok());
        for (version, told) in [(120_805, "12.8"), (111_103, "11.11"), (140_000, "14.0")] {
            let problem = check_version(version).unwrap_err();
            assert_eq!(problem.code, Code::DEVICE_UNAVAILABLE);
            assert!(problem.message.contains(&format!("version {told}, and")), "{problem}");
        }
        assert_eq!(first_missing(&PRODUCT_FUNCTIONS, |_| true), None);
        assert_eq!(
            first_missing(&PRODUCT_FUNCTIONS, |name| name != "cublasLtMatmul"),
            Some("cublasLtMatmul")
        );
    }

    /// The stand-in ends where a function is called that it has not, so what it has is what is called.
    #[test]
    fn every_function_that_is_called_is_looked_for() {
        let source = include_str!("../../../../../kernels/host/driver.cpp");
        let lines = source.lines().filter_map(|line| line.strip_prefix("i32 ").or(line.strip_prefix("u64 ")));
        let mut known: Vec<&str> =
            lines.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name).collect();
        known.retain(|name| name.starts_with("cu"));
        let looked: Vec<&str> = DRIVER_FUNCTIONS.into_iter().chain(PRODUCT_FUNCTIONS).collect();
        assert!(known.len() == looked.len() && known.iter().all(|name| looked.contains(name)), "{known:?}");
    }
}
