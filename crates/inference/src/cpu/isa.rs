//! Which instruction set the kernels use.

use groundline_types::{Code, Problem};

/// Environment variable that caps the instruction set (see [`Isa::name`]), for tests and incidents.
pub const ISA_VARIABLE: &str = "GROUNDLINE_ISA";

/// An instruction set with kernels of its own; those of one kind of processor in ascending order of speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Whatever the compiler makes of plain Rust.
    Portable,
    /// AVX2 with FMA.
    Avx2,
    /// AVX-512 Foundation.
    Avx512,
    /// AVX-512 with the extensions VNNI (products of bytes) and BF16 (products of half-length numbers); Zen 4, Sapphire Rapids and
    /// newer. In single precision it computes as [`Isa::Avx512`] does, bit for bit.
    Avx512Bf16,
    /// Arm's NEON.
    Neon,
    /// NEON with the extensions I8MM (products of bytes) and BF16; Graviton 3, Apple M2, Neoverse N2 and newer. In single
    /// precision it computes as [`Isa::Neon`] does, bit for bit.
    NeonBf16,
}

impl Isa {
    /// All there are; those of one kind of processor slowest first.
    pub const ALL: [Isa; 6] =
        [Isa::Portable, Isa::Avx2, Isa::Avx512, Isa::Avx512Bf16, Isa::Neon, Isa::NeonBf16];

    /// As in `cpu-avx2-f32` and [`ISA_VARIABLE`].
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
            Isa::Avx512Bf16 => "avx512-bf16",
            Isa::Neon => "neon",
            Isa::NeonBf16 => "neon-bf16",
        }
    }

    /// Whether it multiplies bf16 pairs and bytes by instructions of their own: only there are short formats faster.
    pub fn has_short_products(self) -> bool {
        matches!(self, Isa::Avx512Bf16 | Isa::NeonBf16)
    }

    /// The same without these instructions, which in single precision changes nothing.
    pub(super) fn without_short_products(self) -> Self {
        match self {
            Isa::Avx512Bf16 => Isa::Avx512,
            Isa::NeonBf16 => Isa::Neon,
            other => other,
        }
    }

    /// Whether this machine and operating system have it.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => Isa::Avx2.is_available() && is_x86_feature_detected!("avx512f"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512Bf16 => {
                Isa::Avx512.is_available()
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512bf16")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => true,
            #[cfg(target_arch = "aarch64")]
            Isa::NeonBf16 => {
                std::arch::is_aarch64_feature_detected!("bf16")
                    && std::arch::is_aarch64_feature_detected!("i8mm")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 | Isa::Avx512Bf16 => false,
            #[cfg(not(target_arch = "aarch64"))]
            Isa::Neon | Isa::NeonBf16 => false,
        }
    }

    /// Those this machine has, slowest first; never empty.
    pub fn available() -> Vec<Isa> {
        Isa::ALL.into_iter().filter(|isa| isa.is_available()).collect()
    }

    /// The fastest this machine has that is not above `cap` nor above [`ISA_VARIABLE`].
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] where the variable holds another word.
    pub fn choose(cap: Option<Isa>) -> Result<Isa, Problem> {
        let from_environment = std::env::var(ISA_VARIABLE).ok();
        choose(cap, from_environment.as_deref())
    }
}

impl std::fmt::Display for Isa {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

fn choose(cap: Option<Isa>, variable: Option<&str>) -> Result<Isa, Problem> {
    let mut limit = cap.unwrap_or(Isa::NeonBf16);
    if let Some(word) = variable.map(str::trim).filter(|word| !word.is_empty()) {
        let named =
            Isa::ALL.into_iter().find(|isa| isa.name().eq_ignore_ascii_case(word)).ok_or_else(|| {
                let names = Isa::ALL.map(Isa::name).join(", ");
                let message = format!("{ISA_VARIABLE} is {word:?}; it must be one of {names}");
                Problem::new(Code::INVALID_CONFIG, message)
            })?;
        limit = limit.min(named);
    }
    Ok(Isa::available().into_iter().rev().find(|isa| *isa <= limit).unwrap_or(Isa::Portable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cap_is_never_exceeded_and_the_variable_caps_too() {
        assert_eq!(choose(Some(Isa::Portable), None).unwrap(), Isa::Portable);
        assert_eq!(choose(None, Some("Portable")).unwrap(), Isa::Portable);
        assert_eq!(choose(Some(Isa::Portable), Some("avx512")).unwrap(), Isa::Portable);
        assert_eq!(choose(None, None).unwrap(), *Isa::available().last().unwrap());
        assert_eq!(choose(None, Some(" ")).unwrap(), choose(None, None).unwrap());
    }

    #[test]
    fn an_unknown_word_in_the_variable_is_refused() {
        let problem = choose(None, Some("sse9")).unwrap_err();
        assert_eq!(problem.code, Code::INVALID_CONFIG);
        assert!(problem.message.contains("avx512"), "{}", problem.message);
    }
}
