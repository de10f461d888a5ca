//! Methods that compare with other answers.

use super::*;
use groundline_types::{MethodStatus, Polarity, Source};

const SAMPLES: [&str; 2] = [
    "Marie Curie was born in Warsaw. She won the Nobel Prize in Physics in 1903.",
    "Marie Curie was born in Warsaw. She had two daughters.",
];

pub(super) fn sampled(methods: &[&str], sources: Vec<Source>) -> CheckRequest {
    let mut request = CheckRequest::with_sources(RESPONSE, sources);
    request.methods = methods.iter().map(|name| (*name).to_owned()).collect();
    request.samples = SAMPLES.iter().map(|text| (*text).to_owned()).collect();
    request
}

pub(super) fn source() -> Vec<Source> {
    request().sources
}

#[tokio::test]
async fn samples_alone_give_numbers_and_no_verdict() {
    let cluster = Cluster::start().await;
    let methods = ["selfcheck_nli", "selfcheck_bertscore", "selfcheck_ngram", "selfcheck_overlap"];
    let result = cluster.check(sampled(&methods, Vec::new())).await.unwrap();
    assert_eq!((result.status, result.verdict, result.action), (Status::Abstained, None, None));
    assert!(!result.alert, "agreement of samples raises no alert and gives no all-clear");
    assert_eq!((result.scores.min, result.coverage), (None, Some(0.0)));
    for sentence in &result.sentences {
        assert_eq!((sentence.status, sentence.support_probability), (SentenceStatus::Abstained, None));
    }
    let told = result.notes.iter().find(|note| note.code == Code::EMPTY_SOURCE).unwrap();
    assert!(told.message.contains("no source was given"), "{told:?}");
    for name in methods {
        let method = &result.methods[name];
        assert_eq!((method.status, method.polarity), (MethodStatus::Scored, Polarity::HigherIsHallucinated));
        assert_eq!(method.sentences.len(), result.sentences.len(), "{name}");
        let score = |sentence: usize| method.sentences[sentence].score.unwrap();
        assert!(score(1) > score(0), "{name}: 1905 is in no sample, {method:?}");
        assert_eq!(method.sentences[2].status, SentenceStatus::Abstained, "a greeting");
        assert!(method.extra.contains_key("subject_only"), "{name}: {method:?}");
    }
    // 2 sentences and 2 samples, and the 3 different sentences of these.
    assert_eq!((result.usage.pairs, cluster.items()), (4 + 6, 4 + 6));
    let not_rescaled = |note: &groundline_types::Note| {
        note.code == Code::NO_BASELINE && note.location.as_deref() == Some("method selfcheck_bertscore")
    };
    assert!(result.notes.iter().any(not_rescaled), "{:?}", result.notes);
}

#[tokio::test]
async fn similarity_is_remembered_and_equal_pairs_of_two_checks_are_scored_once() {
    let cluster = Cluster::start().await;
    let request = || sampled(&["selfcheck_bertscore"], Vec::new());
    let first = cluster.check(request()).await.unwrap();
    let again = cluster.check(request()).await.unwrap();
    assert_eq!(
        first.methods["selfcheck_bertscore"].sentences,
        again.methods["selfcheck_bertscore"].sentences
    );
    assert_eq!((cluster.items(), again.usage.cache_hits), (6, 6));
    let mut twice = request();
    twice.samples.extend(request().samples);
    twice.response = format!("{RESPONSE} {RESPONSE}").into();
    let twice = cluster.check(twice).await.unwrap();
    assert_eq!(cluster.items(), 6, "nothing in it is new");
    let score = |result: &CheckResult| result.methods["selfcheck_bertscore"].score.unwrap();
    assert!((score(&twice) - score(&first)).abs() < 1e-9);
}

#[tokio::test]
async fn with_a_source_samples_change_no_verdict() {
    let cluster = Cluster::start().await;
    let plain = cluster.check(request()).await.unwrap();
    let both =
        cluster.check(sampled(&["default", "selfcheck_ngram", "selfcheck_nli"], source())).await.unwrap();
    assert_eq!(both.sentences, plain.sentences);
    assert_eq!((both.verdict, both.alert, both.scores), (plain.verdict, plain.alert, plain.scores));
    assert_eq!(both.methods["selfcheck_nli"].status, MethodStatus::Scored);
}

#[tokio::test]
async fn what_needs_a_source_abstains_where_there_are_samples_alone() {
    let cluster = Cluster::start().await;
    let result = cluster.check(sampled(&["default", "selfcheck_overlap"], Vec::new())).await.unwrap();
    assert_eq!(result.status, Status::Abstained);
    let entailment = &result.methods["entailment"];
    assert_eq!(entailment.reason.as_ref().unwrap().code, Code::EMPTY_SOURCE);
    assert_eq!(
        (entailment.status, entailment.polarity),
        (MethodStatus::Abstained, Polarity::HigherIsSupported)
    );
    assert_eq!(result.methods["selfcheck_overlap"].status, MethodStatus::Scored);
    assert_eq!(cluster.items(), 0);
}

#[tokio::test]
async fn without_samples_their_methods_abstain_beside_others_and_are_refused_alone() {
    let cluster = Cluster::start().await;
    let mut request = sampled(&["entailment", "selfcheck_nli"], source());
    request.samples.clear();
    let result = cluster.check(request).await.unwrap();
    let nli = &result.methods["selfcheck_nli"];
    assert_eq!((nli.status, nli.polarity), (MethodStatus::Abstained, Polarity::HigherIsHallucinated));
    assert_eq!(nli.reason.as_ref().unwrap().code, Code::WEAK_SAMPLES);
    assert_eq!(result.status, Status::Scored);
    let mut alone = sampled(&["selfcheck_nli"], source());
    alone.samples = vec!["...".to_owned()];
    assert_eq!(cluster.check(alone).await.unwrap_err().code, Code::WEAK_SAMPLES);
}

#[tokio::test]
async fn the_support_head_decides_where_nothing_better_was_asked() {
    let cluster = Cluster::start().await;
    let mut alone = request();
    alone.methods = vec!["support".to_owned()];
    let result = cluster.check(alone.clone()).await.unwrap();
    assert_eq!(result.sentences[0].verdict, Some(Verdict::Supported));
    assert_eq!(result.sentences[1].verdict, Some(Verdict::NotMentioned), "it knows no contradiction");
    let score = result.methods["support"].sentences[0].score.unwrap();
    let support = result.sentences[0].support_probability.unwrap();
    assert!((score - f64::from(support.get())).abs() < 1e-6);
    alone.methods.push("entailment".to_owned());
    let both = cluster.check(alone).await.unwrap();
    assert_eq!(both.sentences[1].verdict, Some(Verdict::Contradicted));
    assert_eq!(both.methods["support"].sentences.len(), 3);
}
