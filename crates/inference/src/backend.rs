//! What computes a model: the processor, or a GPU where one is asked for and there.

use crate::cpu::{CpuEncoder, Output, PhaseTimes, Precision};
#[cfg(feature = "cuda")]
use crate::cuda::CudaEncoder;
use crate::deberta::{DebertaConfig, Weights};
use crate::engine::Encoded;
use groundline_types::{Code, Problem};
use std::str::FromStr;

/// Which device computes.
///
/// ```
/// use groundline_inference::DeviceChoice;
///
/// assert_eq!("cuda:1".parse(), Ok(DeviceChoice::Cuda(1)));
/// assert_eq!(DeviceChoice::Auto.to_string(), "auto");
/// assert!("gpu".parse::<DeviceChoice>().is_err());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// The processor.
    #[default]
    Cpu,
    /// The first GPU where one can be used, else the processor: that it is the processor is said aloud.
    Auto,
    /// The GPU with this number; without it there is an error.
    Cuda(usize),
}

/// How far a logit may be from single precision in the processor's shorter formats, about twice what is seen with
/// groundline-mini. It tells a broken folder from a sound one; whether verdicts hold is measured
/// ([`crate::measure_precision`]).
const BF16_TOLERANCE: f32 = 0.06;
const BYTES_TOLERANCE: f32 = 0.8;
/// Before the number of a GPU.
const CUDA: &str = "cuda:";

impl FromStr for DeviceChoice {
    type Err = Problem;

    fn from_str(text: &str) -> Result<Self, Problem> {
        let cuda = || text.strip_prefix(CUDA).and_then(|number| number.parse().ok()).map(Self::Cuda);
        match text {
            "cpu" => Ok(Self::Cpu),
            "auto" => Ok(Self::Auto),
            _ => cuda().ok_or_else(|| {
                Problem::new(
                    Code::INVALID_CONFIG,
                    "the device is none that is known: give auto, cpu, or cuda:0 (or another number of a GPU)",
                )
            }),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = Problem;

    fn try_from(text: String) -> Result<Self, Problem> {
        text.parse()
    }
}

impl std::fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Auto => f.write_str("auto"),
            Self::Cuda(ordinal) => write!(f, "{CUDA}{ordinal}"),
        }
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        choice.to_string()
    }
}

/// An engine's inside.
#[derive(Debug)]
pub(crate) enum Backend {
    Cpu(CpuEncoder),
    #[cfg(feature = "cuda")]
    Cuda(CudaEncoder),
}

impl Backend {
    /// The device that is wanted, and why it is another where `auto` found no GPU that can be used. `deberta`: the model as GPUs
    /// compute it, where they can.
    pub(crate) fn open(
        choice: DeviceChoice,
        deberta: impl FnOnce() -> Result<(DebertaConfig, Weights), Problem>,
        open_cpu: impl FnOnce() -> Result<CpuEncoder, Problem>,
    ) -> Result<(Self, Option<Problem>), Problem> {
        let ordinal = match choice {
            DeviceChoice::Cpu => return Ok((Self::Cpu(open_cpu()?), None)),
            DeviceChoice::Auto => 0,
            DeviceChoice::Cuda(ordinal) => ordinal,
        };
        match open_cuda(ordinal, deberta) {
            Ok(backend) => Ok((backend, None)),
            Err(why) if choice == DeviceChoice::Auto => Ok((Self::Cpu(open_cpu()?), Some(why))),
            Err(why) => Err(why),
        }
    }

    /// Answers every sequence of a batch, in order.
    pub(crate) fn run(&self, batch: &[Encoded]) -> Vec<Output> {
        match self {
            Self::Cpu(encoder) => encoder.run(batch),
            #[cfg(feature = "cuda")]
            Self::Cuda(encoder) => encoder.run(batch),
        }
    }

    /// Such as `cpu-avx512-f32` or `cuda-sm_90a-f16`.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Cpu(encoder) => encoder.name(),
            #[cfg(feature = "cuda")]
            Self::Cuda(encoder) => format!("cuda-{}-f16", encoder.target()),
        }
    }

    pub(crate) fn batch_tokens(&self) -> usize {
        match self {
            Self::Cpu(encoder) => encoder.batch_tokens(),
            #[cfg(feature = "cuda")]
            Self::Cuda(encoder) => encoder.batch_tokens(),
        }
    }

    /// Time by phase; nothing on a GPU, where a profiler of its own tells more.
    pub(crate) fn profile(&self, batch: &[Encoded], rounds: usize) -> PhaseTimes {
        match self {
            Self::Cpu(encoder) => encoder.profile(batch, rounds),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => {
                let _ = (batch, rounds);
                PhaseTimes::default()
            }
        }
    }

    /// How far a number may be from the reference implementation's, which computes in f32.
    pub(crate) fn tolerance(&self) -> f32 {
        match self {
            Self::Cpu(encoder) => match encoder.precision() {
                Precision::F32 => crate::verify::VERIFY_TOLERANCE,
                Precision::Bf16 => BF16_TOLERANCE,
                _ => BYTES_TOLERANCE,
            },
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => crate::cuda::HALF_TOLERANCE,
        }
    }
}

#[cfg(feature = "cuda")]
fn open_cuda(
    ordinal: usize,
    deberta: impl FnOnce() -> Result<(DebertaConfig, Weights), Problem>,
) -> Result<Backend, Problem> {
    // Whether there is a GPU is the first thing to know.
    crate::cuda::look()?;
    let (config, weights) = deberta()?;
    CudaEncoder::open(ordinal, &config, &weights).map(Backend::Cuda)
}

#[cfg(not(feature = "cuda"))]
fn open_cuda(
    _ordinal: usize,
    _deberta: impl FnOnce() -> Result<(DebertaConfig, Weights), Problem>,
) -> Result<Backend, Problem> {
    Err(Problem::new(
        Code::DEVICE_UNAVAILABLE,
        "this program was built without CUDA; build it with `--features cuda`, or use the CPU (device \"cpu\")",
    ))
}

/// Looks for devices that compute, beside the processor: a line for each, or why there is none.
///
/// # Errors
/// [`Code::DEVICE_UNAVAILABLE`] with what is missing.
pub fn find_gpus() -> Result<Vec<String>, Problem> {
    #[cfg(feature = "cuda")]
    return Ok(crate::cuda::look()?.iter().map(ToString::to_string).collect());
    #[cfg(not(feature = "cuda"))]
    Err(Problem::new(Code::DEVICE_UNAVAILABLE, "this program was built without CUDA"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_written_as_it_is_read() {
        for text in ["auto", "cpu", "cuda:0", "cuda:12"] {
            assert_eq!(text.parse::<DeviceChoice>().unwrap().to_string(), text);
            let json = format!("{text:?}");
            let choice: DeviceChoice = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&choice).unwrap(), json);
        }
        for text in ["", "gpu", "cuda", "cuda:", "cuda:-1", "CUDA:0", "cuda:0 "] {
            assert_eq!(text.parse::<DeviceChoice>().unwrap_err().code, Code::INVALID_CONFIG, "{text}");
        }
    }
}
