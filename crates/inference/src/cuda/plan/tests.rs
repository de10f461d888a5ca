use super::*;
use crate::cuda::arguments::Access;
use crate::cuda::memory::ALIGNMENT_BYTES;
use crate::cuda::shape::{ClassifierShape, ConvShape, Function, Relative};
use crate::testing::{GOLDEN_CHECKPOINTS, Opened, mini};
use groundline_types::Head;
use std::collections::{BTreeMap, BTreeSet};

const DEVICE: DeviceLimits =
    DeviceLimits { block_shared_bytes: 227 << 10, shared_bytes: 228 << 10, multiprocessors: 132 };

/// DeBERTa-v3-large.
pub(in crate::cuda) fn large() -> Shape {
    let config = Opened::golden("deberta-v3-like").config;
    let config = crate::deberta::DebertaConfig { max_position_embeddings: 512, ..config };
    let relative = Relative::of(&config, 512).unwrap();
    Shape {
        hidden: 1024,
        heads: 16,
        head_width: 64,
        intermediate: 4096,
        layers: 24,
        vocabulary: 128_100,
        longest: 512,
        positions: false,
        types: false,
        type_rows: 0,
        relative: Some(relative),
        scale: 0.104,
        conv: None,
        activation: Function::Gelu,
        eps: 1e-7,
        classifiers: vec![ClassifierShape { head: Head::Nli, labels: 3, activation: Function::Gelu }],
    }
}

fn shapes() -> Vec<(String, Shape)> {
    let of = |opened: Opened| Shape::of(&opened.config, &opened.weights).unwrap();
    let mut shapes: Vec<_> =
        GOLDEN_CHECKPOINTS.iter().map(|&name| (name.to_owned(), of(Opened::golden(name)))).collect();
    shapes.push(("groundline-mini".into(), of(mini())));
    shapes.push(("large".into(), large()));
    let xlarge = Shape {
        conv: Some(ConvShape { taps: 3, activation: Function::Gelu }),
        hidden: 1536,
        heads: 24,
        intermediate: 6144,
        ..large()
    };
    shapes.push(("xlarge".into(), xlarge));
    shapes.push(("plain".into(), Shape { relative: None, ..large() }));
    shapes.push(("one layer".into(), Shape { layers: 1, ..large() }));
    shapes
}

fn buckets() -> Vec<Bucket> {
    let lengths = [vec![1], vec![60; 4], vec![500, 130, 64, 3], vec![31; 260]];
    let mut buckets = Vec::new();
    for lengths in &lengths {
        for ask in [Ask::Logits, Ask::Mean] {
            buckets.extend([false, true].map(|wide| Bucket::of(lengths, ask, wide)));
        }
    }
    buckets
}

/// Every plan of every shape.
pub(in crate::cuda) fn for_each(check: impl Fn(&str, &Shape, Bucket, &Plan)) {
    for (name, shape) in shapes() {
        let weights = WeightLayout::of(&shape);
        for bucket in buckets() {
            let plan = Plan::of(&shape, &weights, &DEVICE, bucket).unwrap();
            check(&format!("{name} {bucket:?}"), &shape, bucket, &plan);
        }
    }
}

/// The struct that each kernel takes, from the kernels' source.
fn kernels() -> BTreeMap<String, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels");
    let mut kernels = BTreeMap::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text =
            if path.is_file() { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        for line in text.lines().filter(|line| line.starts_with("KERNEL(")) {
            let (_, rest) = line.split_once(") ").unwrap();
            let (name, rest) = rest.split_once('(').unwrap();
            let (kind, _) = rest.split_once(' ').unwrap();
            kernels.insert(name.to_owned(), kind.split('<').next().unwrap().to_owned());
        }
    }
    kernels
}

#[test]
fn every_launch_names_a_kernel_of_the_source_with_the_struct_it_takes_within_a_devices_limits() {
    let kernels = kernels();
    assert!(kernels.len() > 25, "{kernels:?}");
    for_each(|name, _, _, plan| {
        for step in &plan.steps {
            let Step::Launch(launch) = step else { continue };
            assert_eq!(kernels[launch.kernel], launch.arguments.name, "{name}: {}", launch.kernel);
            let (x, y) = launch.grid;
            assert!((1..=i32::MAX as usize).contains(&x) && (1..=65_535).contains(&y), "{name}: {launch:?}");
            assert!((32..=384).contains(&launch.threads) && launch.threads.is_multiple_of(32), "{name}");
            assert!(launch.shared_bytes <= DEVICE.block_shared_bytes, "{name}: {launch:?}");
        }
    });
}

#[test]
fn nothing_is_read_before_it_is_written_and_nothing_lies_past_its_buffer() {
    for_each(|name, shape, bucket, plan| {
        let (mut written, output) = (BTreeSet::new(), bucket.output(shape).bytes);
        let (input, weights) = (bucket.input().bytes, WeightLayout::of(shape).bytes);
        for step in &plan.steps {
            for (access, pointer) in step.uses() {
                match pointer {
                    Ptr::Work(buffer, at) => {
                        assert!(access == Access::Write || written.contains(&buffer), "{name}: {step:?}");
                        assert!(at < plan.buffers[buffer], "{name}: {step:?}");
                        written.insert(buffer);
                    }
                    Ptr::Input(at) => assert!(at < input && access == Access::Read, "{name}: {step:?}"),
                    Ptr::Output(at) => assert!(at < output && access != Access::Read, "{name}: {step:?}"),
                    Ptr::Weights(at) => assert!(at < weights && access == Access::Read, "{name}: {step:?}"),
                    Ptr::Null => {}
                }
            }
        }
    });
}

#[test]
fn products_stay_within_their_matrices() {
    for_each(|name, _, _, plan| {
        for step in &plan.steps {
            let Step::Product(it) = step else { continue };
            let number = |wide: bool| if wide { 4 } else { 2 };
            let reads = (it.x, it.rows * it.inputs * 2);
            let writes = (it.out, it.rows * it.outputs * number(it.wide));
            for (pointer, bytes) in [reads, writes] {
                let Ptr::Work(buffer, at) = pointer else { panic!("{name}: {it:?}") };
                assert!(at + bytes <= plan.buffers[buffer], "{name}: {it:?}");
            }
            // What the library's fastest kernels want.
            assert!(it.inputs.is_multiple_of(8) && it.outputs.is_multiple_of(8), "{name}: {it:?}");
        }
    });
}

#[test]
fn no_two_buffers_that_live_at_once_overlap_and_their_memory_is_far_less_than_their_sum() {
    for_each(|name, shape, _, plan| {
        let lives = lives(&plan.steps, plan.buffers.len());
        let place = |buffer: usize| {
            let start = plan.placement.offsets[buffer];
            (start, start + plan.buffers[buffer])
        };
        for a in 0..lives.len() {
            let (start, end) = place(a);
            assert!(start.is_multiple_of(ALIGNMENT_BYTES) && end <= plan.placement.bytes, "{name}");
            for b in 0..a {
                let (Some(x), Some(y)) = (lives[a], lives[b]) else { panic!("{name}: an unused buffer") };
                let (other, other_end) = place(b);
                let meet = x.first <= y.last && y.first <= x.last;
                assert!(!meet || end <= other || other_end <= start, "{name}: {a} and {b}");
            }
        }
        let sum: usize = plan.buffers.iter().sum();
        assert!(shape.layers < 12 || plan.placement.bytes * 5 < sum, "{name}: {sum}");
    });
}

#[test]
fn the_memory_of_the_largest_bucket_is_enough_for_each_smaller_one() {
    for (name, shape) in shapes() {
        let weights = WeightLayout::of(&shape);
        let bytes = |bucket| Plan::of(&shape, &weights, &DEVICE, bucket).unwrap().placement.bytes;
        for ask in [Ask::Logits, Ask::Mean] {
            for wide in [false, true] {
                let most = bytes(Bucket::largest(&shape, 2048, ask, wide));
                for lengths in [vec![2; 1000], vec![512; 4], vec![40; 50], vec![5], vec![300, 200, 100]] {
                    let bucket = Bucket::of(&lengths, ask, wide);
                    assert!(bytes(bucket) <= most, "{name}: {bucket:?}");
                }
            }
        }
    }
}

#[test]
fn a_large_model_takes_the_steps_and_the_memory_that_it_should() {
    let (shape, bucket) = (large(), Bucket::of(&[128; 64], Ask::Logits, false));
    let plan = Plan::of(&shape, &WeightLayout::of(&shape), &DEVICE, bucket).unwrap();
    // Eight a layer, two more in the last (keys and values apart, first tokens gathered), and clear, embed, pooler, classifier.
    assert_eq!(plan.steps.len(), 24 * 8 + 2 + 4);
    let products = plan.steps.iter().filter_map(|step| match step {
        Step::Product(it) => Some(2 * it.rows * it.inputs * it.outputs),
        _ => None,
    });
    let flops = products.sum::<usize>() as f64;
    let all_tokens = 2.0 * 8192.0 * 24.0 * (4.0 + 8.0) * 1024.0 * 1024.0;
    // The last layer saves 20 of 24 parts of itself.
    let saved = all_tokens / 24.0 * 20.0 / 24.0;
    assert!((flops / (all_tokens - saved) - 1.0).abs() < 0.01, "{flops}");
    // Hidden state and residual, and the wide strip or q, k, v and context.
    let megabytes = plan.placement.bytes >> 20;
    assert!((96..=128).contains(&megabytes), "{megabytes} MiB");
}

#[test]
fn attention_that_no_block_has_room_for_is_a_problem_and_no_plan() {
    let device = DeviceLimits { block_shared_bytes: 16 << 10, ..DEVICE };
    for shape in [large(), Shape { relative: None, ..large() }] {
        let plan = Plan::of(&shape, &WeightLayout::of(&shape), &device, Bucket::of(&[500], Ask::Mean, false));
        assert!(plan.unwrap_err().message.contains("shared memory"));
    }
}
