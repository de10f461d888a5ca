use super::*;

fn measured(precision: Precision, mean_drift: f64, agreement: f64, largest_margin: f64) -> MeasuredPrecision {
    MeasuredPrecision { precision, mean_drift, largest_drift: 0.1, agreement, largest_margin }
}

fn record(measured: Vec<MeasuredPrecision>) -> PrecisionRecord {
    PrecisionRecord { revision: "r".to_owned(), pairs: 2000, text: "pairs".to_owned(), measured }
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

#[test]
fn auto_takes_the_fastest_that_passes_where_the_machine_has_its_instructions() {
    let both = record(vec![
        measured(Precision::Bf16, 0.001, 0.999, 0.01),
        measured(Precision::Int8BeforeOutput, 0.004, 0.991, 0.1),
        measured(Precision::Int8, 0.006, 0.98, 0.3),
    ]);
    let chosen = |choice: PrecisionChoice, isa, record| choice.choose(isa, record).unwrap().precision;
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512Bf16, Some(&both)), Precision::Int8BeforeOutput);
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512, Some(&both)), Precision::F32);
    assert_eq!(chosen(PrecisionChoice::Auto, Isa::Avx512Bf16, None), Precision::F32);
    assert_eq!(chosen(PrecisionChoice::Bf16, Isa::Portable, None), Precision::Bf16);
    assert_eq!(chosen(PrecisionChoice::F32, Isa::Avx512Bf16, Some(&both)), Precision::F32);
    let few = PrecisionRecord { pairs: 499, ..both.clone() };
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
    for broken in ["{", "{}", &serde_json::to_string(&record).unwrap().replace("1.0", "1.5")] {
        std::fs::write(folder.path().join(PRECISION_FILE), broken).unwrap();
        assert_eq!(PrecisionRecord::read(folder.path()).unwrap_err().code, Code::MODEL_CORRUPT);
    }
}
