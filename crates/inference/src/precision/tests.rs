use super::*;
use crate::engine::Engine as _;
use crate::model::{LoadOptions, Model};
use crate::testing::{golden_folder, mini_folder};
use groundline_types::{Head, Preset, Score, Work};
use std::path::Path;

fn measured(precision: Precision, mean_drift: f64, agreement: f64, largest_margin: f64) -> MeasuredPrecision {
    MeasuredPrecision { precision, mean_drift, largest_drift: 0.1, agreement, largest_margin }
}

fn record(measured: Vec<MeasuredPrecision>) -> PrecisionRecord {
    let (revision, text) = ("r".to_owned(), "pairs".to_owned());
    PrecisionRecord { revision, arithmetic: PRECISION_ARITHMETIC, pairs: 2000, text, measured }
}

#[test]
fn a_precision_passes_by_drift_agreement_and_margin() {
    let passes = |precision, drift, agreement, margin| measured(precision, drift, agreement, margin).passes();
    assert!(passes(Precision::Int8, 0.005, 0.99, 0.15));
    assert!(!passes(Precision::Int8, 0.0051, 0.99, 0.15));
    assert!(!passes(Precision::Int8, 0.005, 0.9899, 0.15));
    assert!(!passes(Precision::Int8, 0.005, 0.99, 0.16), "a clear decision changed");
    assert!(!passes(Precision::Bf16, 0.001, 0.994, 0.0), "bf16 must agree more often");
    assert!(!passes(Precision::Int8, f64::NAN, 1.0, 0.0));
}

fn chosen(choice: PrecisionChoice, isa: Isa, record: Option<&PrecisionRecord>) -> Precision {
    choice.choose(isa, record).unwrap().precision
}

#[test]
fn auto_takes_the_fastest_that_passes_where_the_machine_has_its_instructions() {
    let both = record(vec![
        measured(Precision::Bf16, 0.001, 0.999, 0.01),
        measured(Precision::Int8BeforeOutput, 0.004, 0.991, 0.1),
        measured(Precision::Int8, 0.006, 0.98, 0.3),
    ]);
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512Bf16, Some(&both)), Precision::Int8BeforeOutput);
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512, Some(&both)), Precision::F32);
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512Bf16, None), Precision::F32);
    assert_eq!(chosen(PrecisionChoice::Bf16, Isa::Portable, None), Precision::Bf16);
    assert_eq!(chosen(PrecisionChoice::F32, Isa::Avx512Bf16, Some(&both)), Precision::F32);
    let few = PrecisionRecord { pairs: 499, ..both };
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512Bf16, Some(&few)), Precision::F32, "too few pairs");
}

#[test]
fn int8_falls_back_aloud_and_is_refused_unmeasured() {
    let refused = PrecisionChoice::Int8.choose(Isa::Avx512Bf16, None).unwrap_err();
    assert_eq!(refused.code, Code::PRECISION_REFUSED);
    let none =
        record(vec![measured(Precision::Int8, 0.1, 0.7, 0.9), measured(Precision::Bf16, 0.1, 0.7, 0.9)]);
    let chosen = PrecisionChoice::Int8.choose(Isa::Avx512Bf16, Some(&none)).unwrap();
    assert_eq!(chosen.precision, Precision::F32);
    assert!(chosen.instead.unwrap().message.contains("computed in f32"));
    let all = record(vec![measured(Precision::Int8, 0.001, 1.0, 0.0)]);
    let chosen = PrecisionChoice::Int8.choose(Isa::Portable, Some(&all)).unwrap();
    assert!(chosen.precision == Precision::Int8 && chosen.instead.is_none());
}

#[test]
fn a_record_is_read_as_it_was_written_and_a_broken_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(PrecisionRecord::read(folder.path()).unwrap(), None);
    let record = record(vec![measured(Precision::Int8Projections, 0.001, 1.0, 0.0)]);
    record.write(folder.path()).unwrap();
    assert_eq!(PrecisionRecord::read(folder.path()).unwrap().as_ref(), Some(&record));
    assert_eq!(record.clone().of_revision("r"), Some(record.clone()));
    assert_eq!(record.clone().of_revision("other"), None);
    let mut file = serde_json::to_value(&record).unwrap();
    file.as_object_mut().unwrap().remove("arithmetic").unwrap();
    let first: PrecisionRecord = serde_json::from_value(file).unwrap();
    assert_eq!(
        (first.arithmetic, first.of_revision("r")),
        (1, None),
        "measured before attention was in bf16"
    );
    for broken in ["{", "{}", &serde_json::to_string(&record).unwrap().replace("1.0", "1.5")] {
        std::fs::write(folder.path().join(PRECISION_FILE), broken).unwrap();
        assert_eq!(PrecisionRecord::read(folder.path()).unwrap_err().code, Code::MODEL_CORRUPT);
    }
}

#[test]
fn the_shipped_record_is_of_what_is_computed_now() {
    let record = PrecisionRecord::read(&mini_folder()).unwrap().unwrap();
    assert_eq!(record.arithmetic, PRECISION_ARITHMETIC, "measure anew with `groundline models precision`");
    assert_eq!(record.fastest(), Some(Precision::Int8BeforeOutput));
}

/// Logits of some pairs, one after another and together.
fn logits(folder: &Path, preset: Option<Preset>, precision: Precision) -> Vec<Vec<f32>> {
    let precision_choice = PrecisionChoice::Exactly(precision);
    let options = LoadOptions { preset, precision: precision_choice, ..LoadOptions::default() };
    let model = Model::load(folder, &options).unwrap();
    let words = "the cat sat on a mat in Warsaw 1903 and was born there before it left for Paris again";
    let words = words.split(' ').collect::<Vec<_>>();
    let pair = |n: usize| Work::Pair {
        premise: words[..2 + n % 15].join(" ").into(),
        hypothesis: words[n % 7..8].join(" ").into(),
        head: Head::Nli,
    };
    let pairs = (0..40).map(|n| model.encode(&pair(n)).unwrap()).collect::<Vec<_>>();
    let read = |score: Result<Score, Problem>| match score.unwrap() {
        Score::Logits(logits) => logits.to_vec(),
        other => panic!("{other:?}"),
    };
    let together = model.run(&pairs).into_iter().map(read).collect::<Vec<_>>();
    for (pair, together) in pairs.iter().zip(&together) {
        let alone = read(model.run(std::slice::from_ref(pair)).remove(0));
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&alone), bits(together), "{precision}: a pair alone and among others");
    }
    together
}

#[test]
fn every_family_computes_in_every_precision_near_single_and_each_pair_by_itself() {
    // Largest differences of logits in bf16 and with bytes, about twice what was seen. T5's random weights give logits of up to 17.
    let models = [
        (golden_folder("deberta-v2-conv"), None, [0.04, 0.13]),
        (golden_folder("deberta-v3-like"), None, [0.05, 0.15]),
        (golden_folder("bert"), Some(Preset::Factcc), [0.02, 0.06]),
        (golden_folder("roberta"), Some(Preset::Alignscore), [0.02, 0.06]),
        (golden_folder("t5-gated"), Some(Preset::True), [3.0, 8.0]),
        (golden_folder("t5-token"), Some(Preset::Hhem), [0.1, 0.3]),
        (mini_folder(), None, [0.1, 0.3]),
    ];
    for (folder, preset, [of_bf16, of_bytes]) in models {
        let exact = logits(&folder, preset, Precision::F32);
        for precision in Precision::ALL.into_iter().skip(1) {
            let bound = if precision.has_bytes() { of_bytes } else { of_bf16 };
            let short = logits(&folder, preset, precision);
            let differences = exact.iter().flatten().zip(short.iter().flatten()).map(|(a, b)| (a - b).abs());
            let worst = differences.fold(0.0, f32::max);
            println!("{} {precision}: {worst}", folder.display());
            assert!(worst > 0.0 && worst < bound, "{} {precision}: {worst}", folder.display());
        }
    }
}
