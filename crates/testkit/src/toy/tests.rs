use super::*;
use groundline_types::CountTokens;

fn probabilities(engine: &ToyEngine, premise: &str, hypothesis: &str) -> groundline_types::NliProbabilities {
    let work = pair(premise, hypothesis);
    let encoded = engine.encode(&work).unwrap();
    let score = engine.run(&[encoded]).remove(0).unwrap();
    engine.facts().labels.probabilities(score.logits().unwrap()).unwrap()
}

fn pair(premise: &str, hypothesis: &str) -> Work {
    Work::Pair { premise: premise.into(), hypothesis: hypothesis.into(), head: Head::Nli }
}

const CURIE: &str = "Marie Curie won the Nobel Prize in Physics in 1903.";

#[test]
fn shared_words_entail_and_missing_words_are_neutral() {
    let engine = ToyEngine::default();
    assert!(probabilities(&engine, CURIE, "Curie won the Nobel Prize.").entailment.get() > 0.9);
    assert!(probabilities(&engine, CURIE, "Berlin lies on the Spree.").neutral.get() > 0.9);
}

#[test]
fn a_denial_or_another_number_contradicts() {
    let engine = ToyEngine::default();
    let denied = probabilities(&engine, CURIE, "Curie never won the Nobel Prize.");
    let other_year = probabilities(&engine, CURIE, "Marie Curie won the Nobel Prize in 1905.");
    assert!(denied.contradiction.get() > 0.9 && other_year.contradiction.get() > 0.9);
}

#[test]
fn embeddings_have_length_one_and_grow_closer_with_shared_words() {
    let engine = ToyEngine::default();
    let embed = |text: &str| {
        let encoded = engine.encode(&Work::Embed { text: text.into() }).unwrap();
        engine.run(&[encoded]).remove(0).unwrap().embedding().unwrap().to_vec()
    };
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let (curie, near, far) = (embed(CURIE), embed("Curie won a prize."), embed("Rain fell."));
    assert!((dot(&curie, &curie) - 1.0).abs() < 1e-6);
    assert!(dot(&curie, &near) > dot(&curie, &far));
    assert_eq!(embed("").iter().sum::<f32>(), 1.0);
}

#[test]
fn texts_are_similar_by_the_share_of_words_that_each_has_of_the_other() {
    let engine = ToyEngine::default();
    let similarity = |candidate: &str, reference: &str| {
        let work = Work::Similarity { candidate: candidate.into(), reference: reference.into() };
        let found = engine.run(&[engine.encode(&work).unwrap()]).remove(0).unwrap().similarity().unwrap();
        (found.precision, found.recall)
    };
    assert_eq!(similarity("Rain fell here.", "Rain fell."), (2.0 / 3.0, 1.0));
    assert_eq!(similarity("Rain fell.", "Rain fell."), (1.0, 1.0));
    assert_eq!(similarity("", "Rain fell."), (0.0, 0.0));
}

#[test]
fn marked_items_fail_alone() {
    let hooks = ToyHooks {
        fail_word: Some("failword".into()),
        nan_word: Some("nanword".into()),
        ..ToyHooks::default()
    };
    let engine = ToyEngine::new(hooks);
    let works = [pair("a failword", "b"), pair("a", "b"), pair("a", "nanword, b")];
    let batch: Vec<_> = works.iter().map(|work| engine.encode(work).unwrap()).collect();
    let answers = engine.run(&batch);
    assert_eq!(answers[0].as_ref().unwrap_err().code, Code::INTERNAL);
    assert!(answers[1].is_ok());
    assert_eq!(answers[2].as_ref().unwrap_err().code, Code::NON_FINITE);
    let stats = engine.stats();
    assert_eq!((stats.batches.load(Ordering::SeqCst), stats.pairs.load(Ordering::SeqCst)), (1, 3));
}

#[test]
#[should_panic(expected = "told to panic")]
fn a_batch_with_the_panic_word_panics() {
    let engine = ToyEngine::new(ToyHooks { panic_word: Some("boom".into()), ..ToyHooks::default() });
    let encoded = engine.encode(&pair("a boom b", "c")).unwrap();
    let _ = engine.run(&[encoded]);
}

#[test]
fn a_closed_gate_holds_a_batch_until_it_opens() {
    let gate = Arc::new(Gate::closed());
    let engine = ToyEngine::new(ToyHooks { gate: Some(Arc::clone(&gate)), ..ToyHooks::default() });
    let batch = [engine.encode(&pair("a", "b")).unwrap()];
    std::thread::scope(|scope| {
        let run = scope.spawn(|| engine.run(&batch));
        while engine.stats().batches.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        assert!(!run.is_finished());
        gate.open();
        assert_eq!(run.join().unwrap().len(), 1);
    });
}

#[test]
fn long_texts_and_a_missing_head_are_refused() {
    let engine = ToyEngine::default().with_facts(|facts| {
        facts.max_tokens = 6;
        facts.has_support_head = false;
    });
    assert!(engine.encode(&pair("one two", "three")).is_ok());
    assert_eq!(engine.encode(&pair("one two", "three four")).unwrap_err().code, Code::TEXT_TOO_LONG);
    let support = Work::Pair { premise: "a".into(), hypothesis: "b".into(), head: Head::Support };
    assert_eq!(engine.encode(&support).unwrap_err().code, Code::HEAD_MISSING);
}

#[test]
fn the_counter_cuts_before_the_word_that_is_one_too_many() {
    let text = "one  two three";
    assert_eq!(WhitespaceCounter.count_tokens(text), 3);
    assert_eq!(&text[..WhitespaceCounter.prefix_within(text, 2)], "one  two ");
    assert_eq!(WhitespaceCounter.prefix_within(text, 9), text.len());
    assert_eq!(WhitespaceCounter.prefix_within("élan", 0), 2);
}
