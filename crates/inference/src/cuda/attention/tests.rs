use super::*;
use std::collections::BTreeMap;

/// Slots of a model with B buckets on either side (0 for none), up to the distance M.
fn relative(buckets: usize, most: usize, longest: usize) -> Relative {
    let config = crate::deberta::DebertaConfig {
        position_buckets: Some(buckets).filter(|&buckets| buckets > 0),
        max_relative_positions: most,
        max_position_embeddings: longest,
        ..crate::testing::Opened::golden("deberta-v3-like").config
    };
    Relative::of(&config, longest).unwrap()
}

#[test]
fn launches_are_laid_out_as_the_kernels_own_source_says() {
    let table = include_str!("../../../../../kernels/gen/launches.txt");
    let mut lines = 0;
    let (disentangled, others) = table.split_once("target  kernel").unwrap();
    for line in disentangled.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [target, rest @ ..] = fields.as_slice() else { panic!("{line}") };
        let number = |index: usize| rest[index].parse::<usize>().unwrap();
        let limit = limit_of(target);
        let (width, buckets, most, tokens) = (number(0), number(1), number(2), number(3));
        let window = SlotWindow::of(&relative(buckets, most, tokens), tokens.next_multiple_of(TILE));
        let launch = disentangled_launch(limit, width, window).unwrap();
        let tables = if launch.resident { "resident" } else { "streaming" };
        let found = format!("{tables} {} {} {}", launch.groups, launch.stages, launch.shared_bytes);
        assert_eq!(found, rest[4..].join(" "), "{line}");
        lines += 1;
    }
    assert!(lines > 100);
    let mut kernels = BTreeMap::new();
    for line in others.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [target, kernel, width, reach, layout @ ..] = fields.as_slice() else { panic!("{line}") };
        let (kernel, reach) = (*kernel, *reach);
        *kernels.entry(kernel).or_insert(0) += 1;
        let layout = layout.join(" ");
        match kernel {
            "attention_plain" if reach == "0" => {
                let launch = plain_launch(limit_of(target), width.parse().unwrap()).unwrap();
                let found = format!("{} {} {}", launch.groups, launch.stages, launch.shared_bytes);
                assert_eq!(found, layout, "{line}");
            }
            // With a bias: launched by the check alone, which has its own test.
            "attention_plain" => {}
            "attention_cls" => assert_eq!(layout, format!("1 1 {}", crate::cuda::plan::CLS_SHARED_BYTES)),
            "mean_pool" => assert_eq!(layout, format!("1 1 {}", crate::cuda::plan::MEAN_SHARED_BYTES)),
            "conformance" => assert_eq!(layout, "1 1 4096"),
            other => panic!("{other}"),
        }
    }
    assert_eq!(kernels.into_values().collect::<Vec<_>>(), [4, 24, 4, 4]);
}

fn limit_of(target: &str) -> usize {
    match target {
        "sm_80" => 163 << 10,
        "sm_86" | "sm_89" => 99 << 10,
        "sm_90a" => 227 << 10,
        other => panic!("{other}"),
    }
}

#[test]
fn blocks_fill_the_device_and_are_never_more_than_there_is_work_for() {
    let device =
        DeviceLimits { block_shared_bytes: 227 << 10, shared_bytes: 228 << 10, multiprocessors: 132 };
    let launch = |groups, shared_bytes| AttentionLaunch { resident: true, groups, stages: 2, shared_bytes };
    // One block of three groups a multiprocessor, 16 heads.
    assert_eq!(blocks(&device, launch(3, 200 << 10), 16, 10_000), 8);
    // Two small blocks a multiprocessor.
    assert_eq!(blocks(&device, launch(1, 90 << 10), 12, 10_000), 22);
    assert_eq!(blocks(&device, launch(3, 200 << 10), 1, 7), 3);
    assert_eq!(blocks(&device, launch(1, 220 << 10), 500, 1), 1);
}

#[test]
fn a_model_whose_buckets_skip_slots_is_refused() {
    let config = crate::deberta::DebertaConfig {
        position_buckets: Some(256),
        max_relative_positions: 150,
        ..crate::testing::Opened::golden("deberta-v3-like").config
    };
    assert!(Relative::of(&config, 512).unwrap_err().message.contains("skip slots"));
}
