//! Finding CUDA and its devices when the process runs: nothing of it is needed to build.

use super::super::arguments::Ptr;
use super::super::attention::DeviceLimits;
use super::super::runner::Fault;
use super::super::steps::Launch;
use super::super::targets::{Capability, choose};
use super::functions::check_functions;
use super::products::Products;
use super::status::{explained, fault_of};
use cudarc::driver::{result, sys};
use groundline_types::{Code, Problem};
use std::ffi::{CString, c_void};

/// A GPU, as it presents itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number, as in `cuda:0`.
    pub ordinal: usize,
    /// Such as `NVIDIA H200`.
    pub name: String,
    /// Such as 9 and 0.
    pub compute_capability: (i32, i32),
    /// All of its memory.
    pub memory_bytes: u64,
    /// The CUDA version of its driver, 13000 for 13.0.
    pub driver_version: i32,
    /// Which of the kernels' code it runs, such as `sm_90a`.
    pub target: &'static str,
}

impl std::fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { ordinal, name, compute_capability: (major, minor), memory_bytes, driver_version, target } =
            self;
        let (gibibytes, cuda) = (memory_bytes >> 30, (driver_version / 1000, driver_version % 1000 / 10));
        write!(
            f,
            "cuda:{ordinal} {name}, compute capability {major}.{minor}, {gibibytes} GiB, driver of CUDA {}.{}, kernels for \
             {target}",
            cuda.0, cuda.1
        )
    }
}

/// The libraries that are looked for, with names that they are known by.
pub(super) const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];
pub(super) const PRODUCTS: [&str; 2] = ["libcublasLt.so.13", "libcublasLt.so"];

pub(super) const DRIVER_ADVICE: &str =
    "install NVIDIA's driver 580 or newer (in a container: start it with its GPUs), or use the CPU";
pub(super) const PRODUCT_ADVICE: &str = "install CUDA 13's cuBLAS, or name the folder that has it in LD_LIBRARY_PATH (PyTorch brings it in \
                              site-packages/nvidia/cu13/lib)";

pub(super) fn unavailable(message: String) -> Problem {
    Problem::new(Code::DEVICE_UNAVAILABLE, message)
}

/// Why a library is missing: its names, where it was looked for, and what to do.
fn missing(names: [&str; 2], path: Option<&str>, advice: &str) -> Problem {
    let path = match path {
        None | Some("") => "LD_LIBRARY_PATH is not set".to_owned(),
        Some(path) => format!("LD_LIBRARY_PATH is {path}"),
    };
    let [first, second] = names;
    unavailable(format!(
        "CUDA cannot be used: neither {first} nor {second} was found by the dynamic linker ({path}); {advice}"
    ))
}

/// Finds every GPU that this process may use, in the order of their numbers.
///
/// # Errors
/// [`Code::DEVICE_UNAVAILABLE`] without a driver, without cublasLt, without a device, or where a library is of another version; the
/// message says which library was looked for, where, and what to do.
pub fn look() -> Result<Vec<DeviceInfo>, Problem> {
    let path = std::env::var("LD_LIBRARY_PATH").ok();
    // SAFETY: loads and unloads a library of NVIDIA's, whose initialisers may run anywhere.
    if !unsafe { sys::is_culib_present() } {
        return Err(missing(DRIVER, path.as_deref(), DRIVER_ADVICE));
    }
    // SAFETY: the same.
    if !unsafe { cudarc::cublaslt::sys::is_culib_present() } {
        return Err(missing(PRODUCTS, path.as_deref(), PRODUCT_ADVICE));
    }
    check_functions()?;
    let failed =
        |what: &str, error| unavailable(format!("CUDA cannot be used: {what}: {}", explained(error)));
    result::init().map_err(|error| failed("its driver does not start", error))?;
    let count =
        result::device::get_count().map_err(|error| failed("its devices cannot be counted", error))?;
    if count == 0 {
        return Err(unavailable(
            "CUDA is installed, and there is no GPU (CUDA_VISIBLE_DEVICES may hide it)".into(),
        ));
    }
    let devices = (0..count as usize).map(|ordinal| describe(ordinal).map(|(_, info)| info));
    devices.collect()
}

fn driver_version() -> i32 {
    let mut version = 0;
    // SAFETY: writes one integer.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    if status.result().is_ok() { version } else { 0 }
}

fn describe(ordinal: usize) -> Result<(sys::CUdevice, DeviceInfo), Problem> {
    let failed = |error| {
        unavailable(format!("the GPU cuda:{ordinal} cannot be asked what it is: {}", explained(error)))
    };
    let device = result::device::get(ordinal as i32).map_err(failed)?;
    let compute_capability = capability(device).map_err(failed)?;
    let driver_version = driver_version();
    // One that is too old is listed too: choosing it says why it cannot be used.
    let target = choose(compute_capability, driver_version).map_or("none", |target| target.name);
    let info = DeviceInfo {
        ordinal,
        name: result::device::get_name(device).map_err(failed)?,
        compute_capability,
        // SAFETY: the device exists.
        memory_bytes: unsafe { result::device::total_mem(device) }.map_err(failed)? as u64,
        driver_version,
        target,
    };
    Ok((device, info))
}

fn attribute(device: sys::CUdevice, attribute: sys::CUdevice_attribute) -> Result<i32, result::DriverError> {
    // SAFETY: the device exists.
    unsafe { result::device::get_attribute(device, attribute) }
}

fn capability(device: sys::CUdevice) -> Result<Capability, result::DriverError> {
    use sys::CUdevice_attribute as Attribute;
    Ok((
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    ))
}

fn limits(device: sys::CUdevice) -> Result<DeviceLimits, result::DriverError> {
    use sys::CUdevice_attribute as Attribute;
    let number = |which| attribute(device, which).map(|number| number.max(0) as usize);
    Ok(DeviceLimits {
        block_shared_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        shared_bytes: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR)?,
        multiprocessors: number(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
    })
}

/// A device's context, as long as it is wanted.
struct Context(sys::CUdevice);

impl Context {
    /// Makes it current on this thread.
    fn take(device: sys::CUdevice) -> Result<Self, result::DriverError> {
        // SAFETY: the device exists.
        let context = unsafe { result::primary_ctx::retain(device) }?;
        let taken = Self(device);
        // SAFETY: retained, so it is alive.
        unsafe { result::ctx::set_current(context) }?;
        Ok(taken)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: retained in `take`. An error means that the device is lost, and says nothing new.
        let _ = unsafe { result::primary_ctx::release(self.0) };
    }
}

/// A stream of the context that is current.
struct Stream(sys::CUstream);

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: created in `open`, and whatever used it is gone. An error means that the device is lost, and says nothing new.
        let _ = unsafe { result::stream::destroy(self.0) };
    }
}

/// The kernels, in the context that is current.
struct Module(sys::CUmodule);

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded in `open`, and nothing runs that is of it. An error says nothing new here either.
        let _ = unsafe { result::module::unload(self.0) };
    }
}

/// A device with a context that is current on this thread, a stream, and the kernels. Fields are dropped in this order: the context is
/// the last to go.
pub(super) struct Opened {
    pub info: DeviceInfo,
    pub limits: DeviceLimits,
    stream: Stream,
    module: Module,
    context: Context,
}

impl Opened {
    pub(super) fn open(ordinal: usize) -> Result<Self, Problem> {
        let devices = look()?;
        if ordinal >= devices.len() {
            let count = devices.len();
            return Err(unavailable(format!(
                "there is no cuda:{ordinal}: {count} GPUs were found, from cuda:0 on"
            )));
        }
        let (device, info) = describe(ordinal)?;
        let code = choose(info.compute_capability, info.driver_version)?.code()?;
        let failed = |error| unavailable(format!("{} cannot be used: {}", info.name, explained(error)));
        let limits = limits(device).map_err(failed)?;
        let context = Context::take(device).map_err(failed)?;
        // SAFETY: the code is a whole CUBIN, or PTX that ends with a zero byte, as the compiler wrote it.
        let module =
            unsafe { result::module::load_data(code.as_ptr().cast()) }.map(Module).map_err(failed)?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = result::stream::create(kind).map(Stream).map_err(failed)?;
        Ok(Self { info, limits, stream, module, context })
    }

    pub(super) fn stream(&self) -> sys::CUstream {
        self.stream.0
    }

    /// The kernel of a launch.
    pub(super) fn function(&self, launch: &Launch) -> Result<sys::CUfunction, Fault> {
        let name = CString::new(launch.kernel).map_err(|error| Fault::Refused(error.to_string()))?;
        // SAFETY: the module stays loaded as long as this.
        let function = unsafe { result::module::get_function(self.module.0, name) }.map_err(fault_of)?;
        // More than 48 KiB must be asked for, and another launch of the kernel may take more than this one.
        if launch.shared_bytes > 0 {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            let bytes = self.limits.block_shared_bytes as i32;
            // SAFETY: the function was just got.
            unsafe { result::function::set_function_attribute(function, attribute, bytes) }
                .map_err(fault_of)?;
        }
        Ok(function)
    }

    /// Sends a launch.
    ///
    /// # Safety
    /// Every address that `address` gives leads into memory that is as large as the launch needs, until the stream is done with it.
    pub(super) unsafe fn launch(
        &self,
        function: sys::CUfunction,
        launch: &Launch,
        address: &dyn Fn(Ptr) -> u64,
    ) -> Result<(), Fault> {
        // As words, so that it is aligned as a struct of addresses is.
        let bytes = launch.arguments.bytes(address);
        let mut argument: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_ne_bytes(word.try_into().unwrap_or_default()))
            .collect();
        let grid = (launch.grid.0 as u32, launch.grid.1 as u32, 1);
        let block = (launch.threads as u32, 1, 1);
        let mut parameters = [argument.as_mut_ptr().cast::<c_void>()];
        let (shared, stream) = (launch.shared_bytes as u32, self.stream());
        // SAFETY: the kernel takes one struct, whose bytes these are (tests compare it with the kernels' source); its addresses are
        // good, as the caller promises.
        unsafe { result::launch_kernel(function, grid, block, shared, stream, &mut parameters) }
            .map_err(fault_of)
    }

    /// The library of products on this device's stream.
    pub(super) fn products(&self) -> Result<Products, Fault> {
        // Once more, and never released: NVIDIA's runtime inside the library keeps what it knows of a context, and need not find out
        // that it ended and that another began. The process takes it along.
        // SAFETY: the device exists.
        unsafe { result::primary_ctx::retain(self.context.0) }.map_err(fault_of)?;
        Products::new(self.stream())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_described_in_a_line() {
        let info = DeviceInfo {
            ordinal: 0,
            name: "NVIDIA H200".to_owned(),
            compute_capability: (9, 0),
            memory_bytes: 150_000_000_000,
            driver_version: 13_000,
            target: "sm_90a",
        };
        let line =
            "cuda:0 NVIDIA H200, compute capability 9.0, 139 GiB, driver of CUDA 13.0, kernels for sm_90a";
        assert_eq!(info.to_string(), line);
    }

    #[test]
    fn a_missing_library_is_named_with_the_places_and_what_to_do() {
        let problem = missing(DRIVER, Some("/opt/a:/opt/b"), "install it");
        assert_eq!(problem.code, Code::DEVICE_UNAVAILABLE);
        assert_eq!(
            problem.message,
            "CUDA cannot be used: neither libcuda.so.1 nor libcuda.so was found by the dynamic linker (LD_LIBRARY_PATH is \
             /opt/a:/opt/b); install it"
        );
        assert!(missing(PRODUCTS, None, "").message.contains("LD_LIBRARY_PATH is not set"));
    }

    #[test]
    fn looking_for_devices_finds_some_or_says_why_there_are_none() {
        match look() {
            Ok(devices) => assert!(!devices.is_empty() && devices[0].ordinal == 0),
            Err(problem) => {
                assert_eq!(problem.code, Code::DEVICE_UNAVAILABLE);
                assert!(problem.message.contains("CUDA"), "{problem}");
            }
        }
    }
}
