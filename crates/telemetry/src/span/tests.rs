use super::*;
use std::collections::BTreeSet;

const HEADER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[test]
fn names_and_attributes_are_listed_once() {
    let names = SpanName::ALL.iter().map(|(name, _)| name.as_str()).collect::<BTreeSet<_>>();
    assert_eq!(names.len(), SpanName::ALL.len());
    assert!(names.iter().all(|name| name.starts_with("groundline.")));
    let keys = SpanKey::ALL.iter().map(|(key, _)| key.as_str()).collect::<BTreeSet<_>>();
    assert_eq!(keys.len(), SpanKey::ALL.len());
}

#[test]
fn an_empty_span_takes_everything_and_tells_nothing() {
    let span = ActiveSpan::default();
    span.set(SpanKey::PAIRS, 3_usize);
    span.fail(Code::INTERNAL);
    link_span(&span, HEADER);
    let _entered = span.enter();
    assert!(!span.is_recording() && !span.child(SpanName::Decide).is_recording());
    assert_eq!(span.traceparent(), None);
}

#[test]
fn a_malformed_header_is_no_parent() {
    assert!(parent_from("not a header").0.is_none());
    let parent = parent_from(HEADER).0.unwrap();
    assert_eq!(traceparent::format(parent.span().span_context()), HEADER);
}
