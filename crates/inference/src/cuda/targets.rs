//! The kernels as NVIDIA's compiler made them, and which of them a device runs.

use groundline_types::{Code, Problem};

/// A compute capability, such as (9, 0).
pub(super) type Capability = (i32, i32);

/// Code for the kernels, compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Target {
    /// Such as `sm_90a`.
    pub name: &'static str,
    compressed: &'static [u8],
    /// Text for the driver's compiler, which ends with a zero byte; else machine code.
    pub is_ptx: bool,
}

macro_rules! committed {
    ($file:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/gen/", $file))
    };
}

/// Machine code, by the one capability that it is for.
const TARGETS: [(Capability, Target); 4] = [
    ((8, 0), Target { name: "sm_80", compressed: committed!("sm_80.cubin.xz"), is_ptx: false }),
    ((8, 6), Target { name: "sm_86", compressed: committed!("sm_86.cubin.xz"), is_ptx: false }),
    ((8, 9), Target { name: "sm_89", compressed: committed!("sm_89.cubin.xz"), is_ptx: false }),
    ((9, 0), Target { name: "sm_90a", compressed: committed!("sm_90a.cubin.xz"), is_ptx: false }),
];
/// For every other device from capability 8.0 on: the driver compiles it when it is loaded.
const FALLBACK: Target =
    Target { name: "compute_80", compressed: committed!("compute_80.ptx.xz"), is_ptx: true };

/// The oldest that the kernels run on.
const OLDEST: Capability = (8, 0);
/// The driver's CUDA that code made by CUDA 13.0 needs, as the driver gives its version.
const OLDEST_DRIVER: i32 = 13_000;

/// The code for a device of this capability, with a driver of CUDA `driver` (13000 for 13.0).
///
/// # Errors
/// [`Code::DEVICE_UNAVAILABLE`] where the device or the driver is too old.
pub(super) fn choose(capability: Capability, driver: i32) -> Result<Target, Problem> {
    let (major, minor) = capability;
    if capability < OLDEST {
        return Err(Problem::new(
            Code::DEVICE_UNAVAILABLE,
            format!(
                "the GPU has compute capability {major}.{minor}, and the kernels need 8.0 or higher (Ampere, 2020); use \
                 the CPU"
            ),
        ));
    }
    if driver < OLDEST_DRIVER {
        return Err(Problem::new(
            Code::DEVICE_UNAVAILABLE,
            format!(
                "the GPU's driver supports CUDA {}.{}, and the kernels need 13.0; install driver 580 or newer",
                driver / 1000,
                driver % 1000 / 10
            ),
        ));
    }
    Ok(TARGETS.iter().find(|(exact, _)| *exact == capability).map_or(FALLBACK, |(_, target)| *target))
}

impl Target {
    /// The code itself.
    ///
    /// # Errors
    /// [`Code::INTERNAL`] where it cannot be decompressed.
    pub(super) fn code(&self) -> Result<Vec<u8>, Problem> {
        let mut code = Vec::new();
        lzma_rs::xz_decompress(&mut &*self.compressed, &mut code).map_err(|error| {
            Problem::new(Code::INTERNAL, format!("the kernels for {} are damaged: {error}", self.name))
        })?;
        if self.is_ptx && code.last() != Some(&0) {
            code.push(0);
        }
        Ok(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_device_gets_its_own_code_and_an_unknown_one_what_its_driver_compiles() {
        let name = |major, minor| choose((major, minor), 13_000).unwrap().name;
        assert_eq!([name(8, 0), name(8, 6), name(8, 9), name(9, 0)], ["sm_80", "sm_86", "sm_89", "sm_90a"]);
        for (major, minor) in [(8, 7), (10, 0), (10, 3), (12, 0)] {
            assert_eq!(name(major, minor), "compute_80");
        }
    }

    #[test]
    fn a_device_or_driver_that_is_too_old_is_refused_with_what_to_do() {
        let old = choose((7, 5), 13_000).unwrap_err();
        assert!(old.code == Code::DEVICE_UNAVAILABLE && old.message.contains("7.5"), "{old}");
        let driver = choose((9, 0), 12_080).unwrap_err();
        assert!(driver.message.contains("CUDA 12.8") && driver.message.contains("580"), "{driver}");
    }

    #[test]
    fn every_target_unpacks_to_what_the_manifest_says() {
        let manifest =
            include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels/gen/manifest.json"));
        let manifest: serde_json::Value = serde_json::from_slice(manifest).unwrap();
        let mut seen = BTreeSet::new();
        for target in TARGETS.iter().map(|(_, target)| *target).chain([FALLBACK]) {
            let file = format!("{}.{}", target.name, if target.is_ptx { "ptx" } else { "cubin" });
            let bytes = manifest["files"][&file]["bytes"].as_u64().unwrap() as usize;
            let code = target.code().unwrap();
            let start: &[u8] = if target.is_ptx { b"//" } else { b"\x7fELF" };
            assert!(code.trim_ascii_start().starts_with(start), "{file}");
            assert!(code.len() == bytes || (target.is_ptx && code.len() == bytes + 1), "{file}");
            seen.insert(file);
        }
        assert_eq!(seen.len(), manifest["files"].as_object().unwrap().len());
    }
}
