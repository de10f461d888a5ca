//! W3C Trace Context, version 00: `00-<32 hex trace id>-<16 hex span id>-<2 hex flags>`.

use opentelemetry::trace::{SpanContext, TraceState};
use opentelemetry::{SpanId, TraceFlags, TraceId};

/// The header's text for a span.
pub(crate) fn format(span: &SpanContext) -> String {
    format!("00-{}-{}-{:02x}", span.trace_id(), span.span_id(), span.trace_flags().to_u8())
}

/// The span that a header names; `None` where it is malformed. Later versions are read as far as version 00 goes.
pub(crate) fn parse(text: &str) -> Option<SpanContext> {
    let mut parts = text.trim().split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_well_formed = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
    if !is_well_formed || version == "ff" || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let context = SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        flags,
        true,
        TraceState::default(),
    );
    context.is_valid().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_header_survives_reading_and_writing() {
        let context = parse(EXAMPLE).unwrap();
        assert!(context.is_sampled() && context.is_remote());
        assert_eq!(format(&context), EXAMPLE);
    }

    #[test]
    fn what_is_no_header_is_no_parent() {
        let zero_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let long = format!("{EXAMPLE}-more");
        for text in ["", "00", "garbage", zero_trace.as_str(), &EXAMPLE.to_uppercase(), &long, &EXAMPLE[..50]]
        {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(parse(&EXAMPLE.replacen("00", "ff", 1)).is_none());
        assert!(parse(&format!("{}-more", EXAMPLE.replacen("00", "01", 1))).is_some());
    }
}
