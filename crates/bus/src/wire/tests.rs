use super::*;
use crate::contract::{job, me};
use crate::{CheckTicket, DeadJob, Job, JobAnswer, JobItem, JobResult, JobTexts, LaneId, Presence};
use bytes::Bytes;
use groundline_types::{Head, Outcome, Preset, Score, Similarity, TokenScore, Work};
use proptest::prelude::*;
use prost::Message as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A field that no schema of ours has: number 1000, a text.
const UNKNOWN_FIELD: &[u8] = &[0xc2, 0x3e, 0x03, b'n', b'e', b'w'];

fn id() -> JobId {
    JobId { reply_to: Incarnation::from_bits(0x0123_4567_89ab_cdef), check: 7, serial: 3 }
}

fn sample_job() -> Job {
    let texts: [Arc<str>; 3] = ["The cat sat.".into(), "Die Katze saß.".into(), "A cat sits.".into()];
    let pair = |premise: usize, head| Work::Pair {
        premise: Arc::clone(&texts[premise]),
        hypothesis: Arc::clone(&texts[2]),
        head,
    };
    let work = [pair(0, Head::Nli), pair(1, Head::Support), Work::Embed { text: Arc::clone(&texts[2]) }];
    Job {
        id: id(),
        attempt: 1,
        lane: LaneId { model: SubjectToken::from_name("model"), lane: Lane::Bulk },
        tenant: SubjectToken::from_name("tenant"),
        time_left: Duration::from_millis(12_345),
        estimated_tokens: 321,
        trace: None,
        texts: JobTexts::intern(&work),
    }
}

fn sample_result() -> JobResult {
    let outcomes = vec![
        Outcome::Scored(Score::Logits([1.5, -0.25, 0.0].as_slice().into())),
        Outcome::Scored(Score::Embedding([0.5, 0.5].as_slice().into())),
        Outcome::Abstained(Reason::new(Code::DEADLINE, "late")),
        Outcome::Failed(Reason::new(Code::NON_FINITE, "twice")),
    ];
    JobResult { id: id(), attempt: 2, answer: JobAnswer::Items(outcomes) }
}

/// Of a kind that came after the first programs that speak 1.0.
fn similarity_job() -> Job {
    let texts: [Arc<str>; 2] = ["The cat sat.".into(), "A cat sits.".into()];
    let work = Work::Similarity { candidate: Arc::clone(&texts[1]), reference: Arc::clone(&texts[0]) };
    Job { texts: JobTexts::intern(&[work]), ..sample_job() }
}

fn similarity_result() -> JobResult {
    let similarity = Similarity { precision: 0.75, recall: -0.5 };
    let outcomes = vec![Outcome::Scored(Score::Similarity(similarity))];
    JobResult { answer: JobAnswer::Items(outcomes), ..sample_result() }
}

fn tokens_job() -> Job {
    let head = Head::Learned(Preset::Lettucedetect);
    let work = Work::Tokens { context: "The cat sat.".into(), text: "A cat sits.".into(), head };
    Job { texts: JobTexts::intern(&[work]), ..sample_job() }
}

fn tokens_result(tokens: &[(u32, u32, f32)]) -> JobResult {
    let token = |&(start, end, hallucination_probability): &(u32, u32, f32)| TokenScore {
        start,
        end,
        hallucination_probability,
    };
    let outcomes = vec![Outcome::Scored(Score::Tokens(tokens.iter().map(token).collect()))];
    JobResult { answer: JobAnswer::Items(outcomes), ..sample_result() }
}

fn sample_presence() -> Presence {
    Presence {
        worker: SubjectToken::from_name("worker"),
        model: SubjectToken::from_name("model"),
        engine: "cpu avx512".into(),
        schema: SCHEMA.into(),
        is_ready: true,
        capacity_tokens: 8192,
        held_tokens: 100,
        tokens_per_second: 1234.5,
        coordinators: 0,
    }
}

fn sample_burial() -> Burial {
    let job = sample_job();
    Burial {
        job: encode_job(&job),
        lane: job.lane,
        tenant: job.tenant,
        reason: Reason::new(Code::JOB_DEAD, "worn"),
        history: vec!["delivery 1: retry".into()],
        died_at_ms: 1_700_000_000_000,
        trace: Some("00-ab-cd-01".into()),
    }
}

fn sample_check() -> CheckTicket {
    CheckTicket { id: "check 1".into(), tenant: SubjectToken::from_name("tenant"), lane: Lane::Online }
}

/// The committed bytes of a message of schema 1.0. They never change: whoever speaks 1.0 sends exactly these.
fn snapshot(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/wire/snapshots/1.0").join(format!("{name}.bin"))
}

/// What was sent by schema 1.0 is read, also with a field that is not known, and what is sent now is what 1.0 reads.
fn keeps<T: std::fmt::Debug + PartialEq>(
    name: &str,
    encoded: Bytes,
    decoded: T,
    decode: impl Fn(Bytes) -> Result<T, WireError>,
) {
    let path = snapshot(name);
    if std::env::var_os("GROUNDLINE_WRITE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &encoded).unwrap();
    }
    let committed = Bytes::from(std::fs::read(path).unwrap());
    assert_eq!(committed, encoded, "{name} is written otherwise");
    assert_eq!(decode(committed.clone()).as_ref(), Ok(&decoded), "{name} is read otherwise");
    let newer = [&committed, UNKNOWN_FIELD].concat().into();
    assert_eq!(decode(newer), Ok(decoded), "{name} with a later field");
}

#[test]
fn messages_of_schema_1_0_are_read_and_written_as_they_were() {
    keeps("job", encode_job(&sample_job()), sample_job(), |bytes| decode_job(bytes, None));
    keeps("result", encode_result(sample_result()), sample_result(), decode_result);
    keeps("similarity_job", encode_job(&similarity_job()), similarity_job(), |bytes| decode_job(bytes, None));
    keeps("similarity_result", encode_result(similarity_result()), similarity_result(), decode_result);
    keeps("tokens_job", encode_job(&tokens_job()), tokens_job(), |bytes| decode_job(bytes, None));
    let tokens = tokens_result(&[(0, 1, 0.0), (2, 5, 0.25), (6, 10, 1.0)]);
    keeps("tokens_result", encode_result(tokens.clone()), tokens, decode_result);
    let split = JobResult { answer: JobAnswer::Split, ..sample_result() };
    keeps("split", encode_result(split.clone()), split, decode_result);
    let checks = vec![id().check_id()];
    keeps("cancel", encode_cancel(&checks), checks, decode_cancel);
    keeps("presence", encode_presence(sample_presence()), sample_presence(), decode_presence);
    let dead = DeadJob {
        sequence: 9,
        job: Some(Arc::new(Job { trace: Some("00-ab-cd-01".into()), ..sample_job() })),
        lane: sample_job().lane,
        tenant: sample_job().tenant,
        reason: Reason::new(Code::JOB_DEAD, "worn"),
        history: vec!["delivery 1: retry".into()],
        died_at_ms: 1_700_000_000_000,
    };
    keeps("dead", encode_dead(sample_burial()), dead, |bytes| decode_dead(bytes, 9));
    let inline = || Stored::Inline(b"{}".to_vec());
    keeps("check", encode_check(&sample_check(), inline()), (sample_check(), inline()), decode_check);
    let object = WireAnswer::Done(Stored::Object("tenant.1.answer".into()));
    keeps("answer", encode_answer(object.clone()), object, decode_answer);
    let failed = WireAnswer::Failed { code: "GL1007".into(), message: "why".into() };
    keeps("failure", encode_answer(failed.clone()), failed, decode_answer);
}

fn decoded(message: pb::Job) -> Result<Job, WireError> {
    decode_job(message.encode_to_vec().into(), None)
}

fn sample_message() -> pb::Job {
    pb::Job::decode(encode_job(&sample_job())).unwrap()
}

#[test]
fn an_index_beyond_the_texts_is_refused() {
    for (one, other) in [(3, 0), (0, 3), (70_000, 0)] {
        let pair = pb::Pair { premise: one, hypothesis: other, head: pb::Head::Nli as i32 };
        let texts = pb::Similarity { candidate: one, reference: other };
        let tokens = pb::Tokens { context: one, text: other, head: pb::Head::Lettucedetect as i32 };
        let kinds =
            [pb::item::Kind::Pair(pair), pb::item::Kind::Similarity(texts), pb::item::Kind::Tokens(tokens)];
        for kind in kinds {
            let items = vec![pb::Item { kind: Some(kind) }];
            let error = decoded(pb::Job { items, ..sample_message() }).unwrap_err();
            assert!(matches!(error, WireError::OutOfRange { .. }), "{error}");
            assert!(!error.is_of_later_schema());
        }
    }
}

#[test]
fn more_than_a_job_holds_is_refused() {
    let item = pb::Item { kind: Some(pb::item::Kind::Embed(pb::Embed { text: 0 })) };
    let items = vec![item; crate::MAX_JOB_ITEMS + 1];
    assert_eq!(decoded(pb::Job { items, ..sample_message() }), Err(WireError::OutOfRange { field: "items" }));
    let texts = vec![String::new(); 2 * crate::MAX_JOB_ITEMS + 1];
    assert_eq!(decoded(pb::Job { texts, ..sample_message() }), Err(WireError::OutOfRange { field: "items" }));
    let outcomes = vec![pb::Outcome { kind: None }; crate::MAX_JOB_ITEMS + 1];
    let answer = Some(pb::job_result::Answer::Items(pb::Items { outcomes }));
    let result = pb::JobResult { id: sample_message().id, attempt: 0, answer };
    let refused = decode_result(result.encode_to_vec().into());
    assert_eq!(refused, Err(WireError::OutOfRange { field: "outcomes" }));
}

#[test]
fn what_a_later_schema_says_is_left_to_who_understands_it() {
    let lane = decoded(pb::Job { lane: 9, ..sample_message() }).unwrap_err();
    let pair = pb::Pair { premise: 0, hypothesis: 0, head: 999 };
    let items = vec![pb::Item { kind: Some(pb::item::Kind::Pair(pair)) }];
    let head = decoded(pb::Job { items, ..sample_message() }).unwrap_err();
    let kind = decoded(pb::Job { items: vec![pb::Item { kind: None }], ..sample_message() }).unwrap_err();
    assert!([lane, head, kind].iter().all(WireError::is_of_later_schema));
}

#[test]
fn names_that_are_no_tokens_and_fields_that_are_missing_are_refused() {
    let tenant = decoded(pb::Job { tenant: "a.>".into(), ..sample_message() });
    assert_eq!(tenant, Err(WireError::OutOfRange { field: "tenant" }));
    assert_eq!(decoded(pb::Job { id: None, ..sample_message() }), Err(WireError::Missing { field: "id" }));
    assert_eq!(decoded(pb::Job { lane: 0, ..sample_message() }), Err(WireError::Missing { field: "lane" }));
}

#[test]
fn a_worker_that_says_how_many_coordinators_share_it_is_understood() {
    let shared = Presence { coordinators: 3, ..sample_presence() };
    assert_eq!(decode_presence(encode_presence(shared.clone())).unwrap(), shared);
}

#[test]
fn what_is_no_probability_of_a_token_never_becomes_a_score() {
    for bad in [(0, 1, f32::NAN), (0, 1, 1.5), (0, 1, -0.1), (1, 1, 0.5), (2, 1, 0.5)] {
        let refused = decode_result(encode_result(tokens_result(&[bad]))).unwrap_err();
        assert_eq!(refused, WireError::OutOfRange { field: "tokens" }, "{bad:?}");
    }
}

#[test]
fn a_number_that_is_not_finite_never_becomes_a_score() {
    let refused = |score| {
        let result = JobResult { answer: JobAnswer::Items(vec![Outcome::Scored(score)]), ..sample_result() };
        decode_result(encode_result(result)).unwrap_err()
    };
    for bad in [f32::NAN, f32::INFINITY] {
        let logits = Score::Logits([0.0, bad].as_slice().into());
        assert_eq!(refused(logits), WireError::OutOfRange { field: "values" });
        for (precision, recall) in [(bad, 0.0), (0.0, bad)] {
            let similarity = Score::Similarity(Similarity { precision, recall });
            assert_eq!(refused(similarity), WireError::OutOfRange { field: "similarity" });
        }
    }
    let presence = Presence { tokens_per_second: -1.0, ..sample_presence() };
    assert!(decode_presence(encode_presence(presence)).is_err());
}

#[test]
fn a_code_of_a_later_version_keeps_its_text() {
    let failed = pb::outcome::Kind::Failed(pb::Reason { code: "GL4999".into(), message: "new".into() });
    let outcomes = vec![pb::Outcome { kind: Some(failed) }];
    let answer = Some(pb::job_result::Answer::Items(pb::Items { outcomes }));
    let result = pb::JobResult { id: sample_message().id, attempt: 0, answer };
    let decoded = decode_result(result.encode_to_vec().into()).unwrap();
    let reason = Reason::new(Code::INTERNAL, "GL4999: new");
    assert_eq!(decoded.answer, JobAnswer::Items(vec![Outcome::Failed(reason)]));
}

#[test]
fn a_dead_job_that_cannot_be_decoded_is_kept_as_it_is() {
    let burial = Burial { job: Bytes::from_static(b"no protobuf"), ..sample_burial() };
    let dead = decode_dead(encode_dead(burial), 1).unwrap();
    assert_eq!((dead.job, dead.tenant), (None, sample_job().tenant));
}

#[test]
fn a_job_needs_no_more_bytes_than_it_is_counted_for() {
    let job = Job { estimated_tokens: usize::MAX, time_left: Duration::from_secs(1 << 40), ..job(u32::MAX) };
    assert!(encode_job(&job).len() <= job.size_bytes());
    assert_eq!(job.id.reply_to, me());
    let texts = (0..32).map(|number| Arc::from(format!("{number:0>300}"))).collect::<Vec<Arc<str>>>();
    let work = texts.chunks(2).map(|pair| Work::Pair {
        premise: Arc::clone(&pair[0]),
        hypothesis: Arc::clone(&pair[1]),
        head: Head::Support,
    });
    let full = Job { texts: JobTexts::intern(&work.collect::<Vec<_>>()), ..job };
    assert!(encode_job(&full).len() <= full.size_bytes());
}

proptest! {
    #[test]
    fn any_bytes_are_a_job_or_an_error(bytes: Vec<u8>) {
        let _ = decode_job(bytes.clone().into(), None);
        let _ = decode_result(bytes.clone().into());
        let _ = decode_dead(bytes.clone().into(), 1);
        let _ = decode_presence(bytes.clone().into());
        let _ = decode_check(bytes.clone().into());
        let _ = decode_answer(bytes.into());
    }

    #[test]
    fn a_job_comes_out_as_it_went_in(
        texts in proptest::collection::vec(".{0,40}", 1..8),
        picks in proptest::collection::vec((0..64_usize, 0..64_usize, 0..3_u8), 0..16),
        (attempt, check, serial) in any::<(u32, u64, u32)>(),
    ) {
        let texts: Vec<Arc<str>> = texts.iter().map(|text| Arc::from(text.as_str())).collect();
        let count = texts.len();
        let items = picks.iter().map(|(a, b, kind)| match ((a % count) as u16, (b % count) as u16, kind) {
            (premise, hypothesis, 0) => JobItem::Pair { premise, hypothesis, head: Head::Nli },
            (candidate, reference, 1) => JobItem::Similarity { candidate, reference },
            (text, ..) => JobItem::Embed { text },
        });
        let texts = JobTexts::from_parts(texts, items.collect()).unwrap();
        let job = Job { id: JobId { check, serial, ..id() }, attempt, texts, ..sample_job() };
        prop_assert_eq!(decode_job(encode_job(&job), None), Ok(job));
    }
}

#[test]
fn every_head_is_the_same_after_the_wire_and_no_two_share_a_number() {
    let mut heads = vec![Head::Nli, Head::Support];
    heads.extend(PRESETS.iter().map(|info| Head::Learned(info.preset)));
    let numbers: std::collections::BTreeSet<i32> = heads.iter().map(|&head| head_to_wire(head)).collect();
    assert_eq!(numbers.len(), heads.len());
    for head in heads {
        assert_eq!(head_from_wire(head_to_wire(head)).unwrap(), head);
    }
    assert!(head_from_wire(0).is_err() && head_from_wire(99).is_err());
}
