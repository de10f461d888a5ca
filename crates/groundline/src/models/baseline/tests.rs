use super::*;
use groundline_inference::SIMILARITY_BASELINE_FILE;
use tempfile::TempDir;

const PASSAGES: &str = "Marie Curie was born in Warsaw. She won two Nobel Prizes.\n\nYes.\nIt rained all week in the valley.\n\
                        Tokyo is the capital of Japan.\nIt rained all week in the valley.\n";

/// A copy of a small model with random weights, and a file of texts.
fn model_and_texts(name: &str, texts: &str) -> (TempDir, Config, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let model =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/checkpoints/deberta-v3-like"));
    for entry in std::fs::read_dir(model).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let mut config = Config::default();
    config.model.name = folder.path().display().to_string();
    let path = folder.path().join(name);
    std::fs::write(&path, texts).unwrap();
    (folder, config, path)
}

#[test]
fn unrelated_pairs_give_a_baseline_that_the_model_is_read_with_from_then_on() {
    let (folder, config, texts) = model_and_texts("passages.txt", PASSAGES);
    assert_eq!(load_model(&config).unwrap().facts().similarity_baseline, None);
    let options = BaselineOptions { pairs: 40, seed: 7 };
    let measured = measure_baseline(&config, &texts, options).unwrap();
    let baseline = measured.baseline.clone();
    assert_eq!((baseline.pairs, baseline.sentences, baseline.seed, measured.too_long), (40, 4, 7, 0));
    assert_eq!(baseline.text, "passages.txt");
    assert!((0.0..1.0).contains(&baseline.f1), "{}", baseline.f1);
    assert!(folder.path().join(SIMILARITY_BASELINE_FILE).is_file());
    let model = load_model(&config).unwrap();
    assert_eq!(model.facts().similarity_baseline, Some(baseline.f1));
    assert_eq!(measure_baseline(&config, &texts, options).unwrap(), measured, "the same draw again");
    let others = measure_baseline(&config, &texts, BaselineOptions { pairs: 40, seed: 8 }).unwrap();
    assert_ne!(others.baseline.f1, measured.baseline.f1);
}

#[test]
fn pairs_are_of_different_passages_and_each_sentence_counts_once() {
    let passages: Vec<String> = PASSAGES.lines().map(str::to_owned).collect();
    let sentences = sentences_of(&passages);
    let texts: Vec<&str> = sentences.iter().map(|(text, _)| &**text).collect();
    assert_eq!(
        texts,
        [
            "Marie Curie was born in Warsaw.",
            "She won two Nobel Prizes.",
            "It rained all week in the valley.",
            "Tokyo is the capital of Japan."
        ]
    );
    let passage = |wanted: &Arc<str>| sentences.iter().find(|(text, _)| text == wanted).unwrap().1;
    let pairs = draw(&sentences, BaselineOptions { pairs: 200, seed: 3 }).unwrap();
    assert_eq!(pairs.len(), 200);
    let mut drawn = HashSet::new();
    for pair in &pairs {
        let Work::Similarity { candidate, reference } = pair else { panic!("another kind of work") };
        assert_ne!(passage(candidate), passage(reference));
        drawn.insert(Arc::clone(candidate));
    }
    assert_eq!(drawn.len(), 4, "every sentence is drawn");
}

#[test]
fn json_lines_are_strings_or_objects_with_a_text() {
    let lines = "\"One passage here stands.\"\n\n{\"text\": \"Another passage there lies.\", \"id\": 3}\n";
    let (_folder, _, texts) = model_and_texts("passages.jsonl", lines);
    assert_eq!(read_passages(&texts).unwrap(), ["One passage here stands.", "Another passage there lies."]);
    for (broken, line) in
        [("{\"texts\": \"x\"}\n", "line 1"), ("\"a\"\nplain\n", "line 2"), ("3\n", "line 1")]
    {
        std::fs::write(&texts, broken).unwrap();
        let problem = read_passages(&texts).unwrap_err();
        assert_eq!(problem.code, Code::MALFORMED_JSON);
        assert!(problem.message.contains(line) && !problem.message.contains("plain"), "{problem}");
    }
}

#[test]
fn texts_that_give_no_pair_are_refused_and_nothing_is_written() {
    let cases: [(&[u8], Code); 4] = [
        (b"", Code::INVALID_FIELD),
        (b"Only one passage is here. It has two sentences.\nYes.\n", Code::INVALID_FIELD),
        (b"\xff\xfe", Code::INVALID_UTF8),
        (b"Same words stand here.\nSame words stand here.\n", Code::INVALID_FIELD),
    ];
    let (folder, config, texts) = model_and_texts("passages.txt", "");
    for (bytes, code) in cases {
        std::fs::write(&texts, bytes).unwrap();
        assert_eq!(measure_baseline(&config, &texts, BaselineOptions::default()).unwrap_err().code, code);
    }
    let missing = measure_baseline(&config, Path::new("/nonexistent.txt"), BaselineOptions::default());
    assert_eq!(missing.unwrap_err().code, Code::UNREADABLE_FILE);
    let long = "word ".repeat(600);
    std::fs::write(&texts, format!("{long}\nmore {long}\n")).unwrap();
    let options = BaselineOptions { pairs: 2, seed: 1 };
    assert_eq!(measure_baseline(&config, &texts, options).unwrap_err().code, Code::INVALID_FIELD);
    assert!(!folder.path().join(SIMILARITY_BASELINE_FILE).try_exists().unwrap());
}
