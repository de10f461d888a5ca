use super::*;
use groundline_inference::Engine;
use groundline_testkit::ToyEngine;
use groundline_types::{Source, Turn};

fn prepared(request: CheckRequest) -> Result<Prepared, Problem> {
    let engine = ToyEngine::default();
    let tenant = SubjectToken::from_name("t");
    let asked = Asked { request: Arc::new(request), part: None };
    prepare(&asked, engine.facts(), &tenant, &CoordinatorOptions::default(), None)
}

#[test]
fn windows_shrink_beside_a_long_claim_and_give_way_to_one_that_is_refused() {
    let source = "word ".repeat(400);
    let short = prepared(CheckRequest::new("Cats sleep.", source.as_str())).unwrap();
    assert_eq!(short.facts.window_tokens, 96);
    let long_claim = format!("Cats {}.", "sleep ".repeat(449).trim());
    let long = prepared(CheckRequest::new(long_claim.as_str(), source.as_str())).unwrap();
    assert_eq!((long.facts.window_tokens, long.refused.len()), (512 - 3 - 450, 0));
    let endless = format!("Cats {}. Dogs bark.", "sleep ".repeat(600).trim());
    let endless = prepared(CheckRequest::new(endless.as_str(), source.as_str())).unwrap();
    assert_eq!(endless.facts.window_tokens, 96);
    assert_eq!(
        endless.refused.values().map(|reason| reason.code).collect::<Vec<_>>(),
        [Code::CLAIM_TOO_LONG]
    );
}

#[test]
fn turns_are_evidence_only_where_the_request_says_so() {
    let source = |text: &str| Source { id: None, title: None, text: text.into() };
    let mut request =
        CheckRequest::with_sources("Cats sleep.", vec![source("Cats rest."), source("Dogs bark.")]);
    request.sources[1].id = Some("dogs".to_owned());
    request.history = vec![Turn { role: "user".to_owned(), content: "Birds sing.".to_owned() }];
    let ids = |request: &CheckRequest| {
        let check = prepared(request.clone()).unwrap().check;
        check.sources.iter().map(|source| source.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&request), ["source-1", "dogs"]);
    request.history_is_evidence = true;
    assert_eq!(ids(&request), ["source-1", "dogs", "history-1"]);
}

#[test]
fn a_source_without_a_word_and_an_unknown_method_are_refused() {
    assert_eq!(prepared(CheckRequest::new("Cats sleep.", "... !!!")).unwrap_err().code, Code::EMPTY_SOURCE);
    let mut request = CheckRequest::new("Cats sleep.", "Cats rest.");
    request.methods = vec!["sumac".to_owned()];
    assert_eq!(prepared(request).unwrap_err().code, Code::UNKNOWN_METHOD);
}

#[test]
fn a_foreign_source_and_a_cut_sentence_are_noted() {
    let english = "The cat was in the house and it was not happy with the dog that they had.";
    let german = "Die Katze war im Haus und sie war nicht glücklich mit dem Hund, der auch da war.";
    let foreign = prepared(CheckRequest::new(english, german)).unwrap();
    assert!(foreign.is_foreign);
    assert_eq!(foreign.notes.iter().map(|note| note.code).collect::<Vec<_>>(), [Code::LANGUAGE_MISMATCH]);
    let endless = "word ".repeat(300);
    let cut = prepared(CheckRequest::new(english, endless.as_str())).unwrap();
    let note = &cut.notes[0];
    assert_eq!((note.code, note.location.as_deref()), (Code::SENTENCE_CUT, Some("source-1")));
}

#[test]
fn a_made_id_avoids_every_id_that_the_request_gives() {
    let source =
        |id: Option<&str>| Source { id: id.map(str::to_owned), title: None, text: "Cats rest.".into() };
    let given = [Some("source-2"), None, Some("history-1"), Some("source-2-2")];
    let mut request = CheckRequest::with_sources("Cats sleep.", given.map(source).to_vec());
    request.history = vec![Turn { role: "user".to_owned(), content: "Birds sing.".to_owned() }];
    request.history_is_evidence = true;
    let check = prepared(request).unwrap().check;
    let ids = check.sources.iter().map(|source| source.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids, ["source-2", "source-2-3", "history-1", "source-2-2", "history-1-2"]);
}

#[test]
fn samples_that_no_method_reads_are_noted() {
    let mut request = CheckRequest::new("Cats sleep.", "Cats rest.");
    assert_eq!(prepared(request.clone()).unwrap().notes, []);
    request.samples = vec!["Dogs sleep.".to_owned()];
    let notes = prepared(request).unwrap().notes;
    assert_eq!((notes.len(), notes[0].code), (1, Code::INVALID_FIELD));
    assert_eq!(notes[0].message, "samples are not used by the methods asked");
}

fn with_samples(methods: &[&str], samples: &[&str]) -> CheckRequest {
    let mut request = CheckRequest::with_sources("Cats sleep.", Vec::new());
    request.methods = methods.iter().map(|name| (*name).to_owned()).collect();
    request.samples = samples.iter().map(|text| (*text).to_owned()).collect();
    request
}

#[test]
fn samples_are_split_where_a_method_reads_them_and_then_there_is_no_note() {
    let prepared = prepared(with_samples(&["selfcheck_ngram"], &["Cats rest. Dogs bark.", "--"])).unwrap();
    let sentences = prepared.check.samples.iter().map(|sample| sample.sentences.len()).collect::<Vec<_>>();
    assert_eq!((sentences, prepared.check.samples[0].windows.len()), (vec![2, 0], 1));
    assert_eq!((prepared.notes, prepared.is_foreign), (vec![], false));
}

#[test]
fn a_long_sample_is_windowed_in_what_the_longest_claim_leaves() {
    let sample = "The cat sat on a mat. ".repeat(120);
    let windows = |claim: &str| {
        let mut request = with_samples(&["selfcheck_nli"], &[&sample]);
        request.response = claim.into();
        let check = prepared(request).unwrap().check;
        check.samples[0].windows.iter().map(|window| window.end_sentence - window.first_sentence).max()
    };
    // A sentence has 6 words; of 512 tokens 3 are marks and 64 are kept for the claim.
    assert_eq!(windows("Cats sleep."), Some((512 - 3 - 64) / 6));
    let long = format!("Cats {}.", "sleep ".repeat(199).trim());
    assert_eq!(windows(&long), Some((512 - 3 - 200) / 6));
}

#[test]
fn a_check_that_no_method_could_speak_of_is_refused() {
    let code =
        |methods: &[&str], samples: &[&str]| prepared(with_samples(methods, samples)).err().map(|p| p.code);
    assert_eq!(code(&["default"], &["Cats rest."]), Some(Code::EMPTY_SOURCE));
    assert_eq!(code(&["default", "selfcheck_nli"], &["Cats rest."]), None);
    assert_eq!(code(&["default", "selfcheck_nli"], &["!"]), Some(Code::EMPTY_SOURCE));
    assert_eq!(code(&["selfcheck_nli"], &["!"]), Some(Code::WEAK_SAMPLES));
}
