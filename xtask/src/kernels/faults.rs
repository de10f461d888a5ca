//! Faults that the host checks must catch: each is planted into a copy of the kernels, which then must not pass.
//!
//! A check that no fault can fail proves nothing. These are the mistakes that such kernels have: a barrier left out, a wait that
//! waits for too little, an index that is off by one.

/// One mistake in one kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// What is wrong, in words.
    pub(super) name: &'static str,
    /// The file, in kernels/.
    pub(super) file: &'static str,
    /// Text that stands there once.
    pub(super) right: &'static str,
    /// What it becomes.
    pub(super) wrong: &'static str,
    /// The check that must notice.
    pub(super) check: &'static str,
}

const DISENTANGLED: &str = "attention_disentangled.cu";

const fn attention(
    name: &'static str,
    file: &'static str,
    right: &'static str,
    wrong: &'static str,
) -> Fault {
    Fault { name, file, right, wrong, check: "attention" }
}

const fn rows(name: &'static str, file: &'static str, right: &'static str, wrong: &'static str) -> Fault {
    Fault { name, file, right, wrong, check: "rows" }
}

/// Every fault.
pub(super) const FAULTS: &[Fault] = &[
    attention(
        "no barrier between the bands and who reads them",
        DISENTANGLED,
        "barrier_group(1 + at.group, GROUP_THREADS);\n      f32 scores[8][4];",
        "f32 scores[8][4];",
    ),
    attention(
        "no barrier at the end of a tile",
        DISENTANGLED,
        "barrier_group(1 + at.group, GROUP_THREADS);  // the stage and the bands may be overwritten",
        "",
    ),
    attention(
        "a warp's barrier where a group's is needed",
        DISENTANGLED,
        "barrier_group(1 + at.group, GROUP_THREADS);\n      const u16* const keys",
        "barrier_warp();\n      const u16* const keys",
    ),
    attention(
        "no barrier after the block's tables",
        DISENTANGLED,
        "copy_wait<0>();\n  barrier_block();",
        "copy_wait<0>();",
    ),
    attention("a wait too weak by one group of copies", DISENTANGLED, "copy_wait<1>();", "copy_wait<2>();"),
    attention(
        "no wait for the last tile",
        DISENTANGLED,
        "        copy_wait<0>();\n      barrier_group",
        "        copy_wait<1>();\n      barrier_group",
    ),
    attention(
        "content-to-position diagonal off by one",
        DISENTANGLED,
        "at.row + 63 - at.column;",
        "at.row + 62 - at.column;",
    ),
    attention(
        "position-to-content diagonal off by one",
        DISENTANGLED,
        "- at.column + 15;",
        "- at.column + 14;",
    ),
    attention(
        "first slot of a bucketed band off by one",
        DISENTANGLED,
        "slot_of(lut, a.reach, distance - (n / 2 * 16 + 15));",
        "slot_of(lut, a.reach, distance - (n / 2 * 16 + 14));",
    ),
    attention(
        "the linear zone reaches too far",
        DISENTANGLED,
        "distance + 63 <= a.linear)",
        "distance <= a.linear + 63)",
    ),
    attention(
        "a streamed slice begins one slot late",
        DISENTANGLED,
        "slot_of(lut, a.reach, q0 - tile * TILE - 63);",
        "slot_of(lut, a.reach, q0 - tile * TILE - 62);",
    ),
    attention(
        "keys are read from the stage that is being filled",
        DISENTANGLED,
        "keys = region + (tile % a.stages) * layout.stage;",
        "keys = region + ((tile + 1) % a.stages) * layout.stage;",
    ),
    attention("one key too many", "attention.h", "(q & 1) >= keys)", "(q & 1) > keys)"),
    attention(
        "the sum of weights is not rescaled",
        "attention.h",
        "run.total[half] *= shrink;",
        "run.total[half] *= 1.0f;",
    ),
    attention(
        "no barrier at the end of a tile of plain attention",
        "attention_plain.cu",
        "barrier_group(1 + at.group, GROUP_THREADS);  // the stage may be overwritten",
        "",
    ),
    attention(
        "the bias looks the other way",
        "attention_plain.cu",
        "biases[most + (d < -most",
        "biases[most - (d < -most",
    ),
    attention(
        "first tokens: no barrier before teams are merged",
        "attention_cls.cu",
        "  barrier_block();\n",
        "",
    ),
    attention(
        "first tokens: distances have the wrong sign",
        "attention_cls.cu",
        "load_u16(a.lut - (j < a.reach",
        "load_u16(a.lut + (j < a.reach",
    ),
    rows("a sum over half a warp", "rows.h", "i32 m = 16; m > 0", "i32 m = 8; m > 0"),
    rows(
        "the variance about zero",
        "rows.h",
        "row.x[c][i] = row.x[c][i] - mean;",
        "row.x[c][i] = row.x[c][i] - 0.0f;",
    ),
    rows(
        "the tail of gelu is cut too early",
        "functions.h",
        "larger(-9.0f, -magnitude(x))",
        "larger(-2.0f, -magnitude(x))",
    ),
    rows(
        "a convolution reads its neighbour's tokens",
        "conv_unfold.cu",
        "load_uniform(a.place + row) + shift;",
        "load_uniform(a.place + from);",
    ),
    rows("minus infinity is not counted", "head.cu", "!(magnitude(logit) <=", "!(logit <="),
    rows("no barrier before warps' sums are added", "mean_pool.cu", "  barrier_block();\n", ""),
];

/// `text` with the fault in it.
///
/// # Errors
/// Where the text to replace does not stand there exactly once.
pub(super) fn plant(fault: &Fault, text: &str) -> anyhow::Result<String> {
    let count = text.matches(fault.right).count();
    anyhow::ensure!(count == 1, "fault {:?}: its text stands {count} times in {}", fault.name, fault.file);
    Ok(text.replacen(fault.right, fault.wrong, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_its_place_in_the_kernels() {
        let kernels = crate::repository_root().unwrap().join("kernels");
        for fault in FAULTS {
            let text = std::fs::read_to_string(kernels.join(fault.file)).unwrap();
            assert_ne!(plant(fault, &text).unwrap(), text, "{}", fault.name);
        }
    }
}
