//! A result as text for people.

use super::{Palette, matrix, one_line, push, width, wrap};
use groundline_types::{
    CheckResult, Code, EvidenceResult, FactResult, MethodResult, MethodStatus, OffsetUnit, Polarity,
    Probability, SentenceResult, SentenceStatus, SpanOrigin, SpanResult, Status, Verdict, VerdictReason,
};

/// How text is laid out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    /// Colours.
    pub(crate) palette: Palette,
    /// Columns to write.
    pub(crate) columns: usize,
    /// Pieces of evidence under a sentence.
    pub(crate) evidence: usize,
    /// The unit of the offsets in the result.
    pub(crate) offsets: OffsetUnit,
}

/// Most spans of tokens shown beneath a sentence.
const SHOWN_SPANS: usize = 5;
/// Columns of `  ✗ contradicted   support 0.02  `, where sentences start.
const INDENT: usize = 33;
/// Below this width a sentence starts on a line of its own.
const WIDE_COLUMNS: usize = 80;
/// Where sentences start on a narrow terminal.
const NARROW_INDENT: usize = 6;

/// Sentences by verdict, over one or many responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Sentences that the sources support.
    pub(crate) supported: usize,
    /// Sentences that they contradict.
    pub(crate) contradicted: usize,
    /// Sentences that they do not mention.
    pub(crate) not_mentioned: usize,
    /// Checkable sentences without a verdict.
    pub(crate) unchecked: usize,
    /// Distinct pairs scored.
    pub(crate) pairs: usize,
}

impl Totals {
    /// The numbers of one result.
    pub(crate) fn of(result: &CheckResult) -> Self {
        let mut totals = Self { pairs: result.usage.pairs, ..Self::default() };
        for sentence in &result.sentences {
            match (sentence.verdict, sentence.status) {
                (Some(Verdict::Supported), _) => totals.supported += 1,
                (Some(Verdict::Contradicted), _) => totals.contradicted += 1,
                (Some(Verdict::NotMentioned), _) => totals.not_mentioned += 1,
                (None, SentenceStatus::Abstained) => {}
                (None, _) => totals.unchecked += 1,
            }
        }
        totals
    }

    /// Adds another's numbers.
    pub(crate) fn add(&mut self, other: Self) {
        self.supported += other.supported;
        self.contradicted += other.contradicted;
        self.not_mentioned += other.not_mentioned;
        self.unchecked += other.unchecked;
        self.pairs += other.pairs;
    }

    /// `3 supported, 1 contradicted, 0 not mentioned · 24 pairs · 0.8 s`.
    pub(crate) fn line(self, palette: Palette, seconds: f64) -> String {
        let paint = |verdict, count: usize, name| {
            let text = format!("{count} {name}");
            if count > 0 { palette.verdict(Some(verdict), &text) } else { palette.dim(&text) }
        };
        let mut line = [
            paint(Verdict::Supported, self.supported, "supported"),
            paint(Verdict::Contradicted, self.contradicted, "contradicted"),
            paint(Verdict::NotMentioned, self.not_mentioned, "not mentioned"),
        ]
        .join(", ");
        if self.unchecked > 0 {
            line += ", ";
            line += &palette.warn(&format!("{} not checked", self.unchecked));
        }
        let pairs = if self.pairs == 1 { "pair" } else { "pairs" };
        line + &palette.dim(&format!(" · {} {pairs} · {seconds:.1} s", self.pairs))
    }
}

/// The whole result: header, sentences, matrix, notes, summary, and an empty line.
pub(crate) fn render_result(result: &CheckResult, layout: &Layout) -> String {
    let mut out = header(result, layout.palette);
    for (index, sentence) in result.sentences.iter().enumerate() {
        render_sentence(&mut out, sentence, layout);
        if let Some(unsupported) = unsupported_tokens(result, index) {
            render_lines(&mut out, &unsupported, layout, |line| layout.palette.warn(line));
        }
        if let Some(numbers) = own_numbers(result, index) {
            render_lines(&mut out, &numbers, layout, |line| layout.palette.dim(line));
        }
    }
    if let Some(matrix) = &result.matrix {
        out.push('\n');
        out.push_str(&matrix::render(matrix, &result.sentences, layout));
        out.push_str(&summac_line(result));
    }
    render_ensemble(&mut out, result, layout);
    render_notes(&mut out, result, layout);
    out.push_str("  ");
    out.push_str(&Totals::of(result).line(layout.palette, result.timings.total_ms / 1000.0));
    out.push_str("\n\n");
    out
}

/// `unsupported: “1905” 0.93`: the spans of tokens in a sentence, most probable first. Those of facts are shown as facts.
fn unsupported_tokens(result: &CheckResult, index: usize) -> Option<String> {
    let is_shown = |span: &&SpanResult| span.sentence == index && span.source == SpanOrigin::Tokens;
    let mut spans: Vec<&SpanResult> = result.spans.iter().flatten().filter(is_shown).collect();
    // Stable: of equals the earlier one comes first.
    spans.sort_by(|a, b| b.hallucination_probability.get().total_cmp(&a.hallucination_probability.get()));
    let show = |span: &&SpanResult| {
        format!("“{}” {:.2}", one_line(&span.text), span.hallucination_probability.get())
    };
    let mut shown: Vec<String> = spans.iter().take(SHOWN_SPANS).map(show).collect();
    if spans.len() > SHOWN_SPANS {
        shown.push(format!("{} more", spans.len() - SHOWN_SPANS));
    }
    (!shown.is_empty()).then(|| format!("unsupported: {}", shown.join(", ")))
}

/// `selfcheck_ngram 5.31 (higher is worse)`: what methods say of a sentence besides its verdict.
fn own_numbers(result: &CheckResult, index: usize) -> Option<String> {
    let of_method = |(name, method): (&String, &MethodResult)| {
        let score = method.sentences.get(index)?.score?;
        let direction = match method.polarity {
            Polarity::HigherIsSupported => "better",
            Polarity::HigherIsHallucinated => "worse",
        };
        Some(format!("{name} {score:.2} (higher is {direction})"))
    };
    let shown: Vec<String> = result.methods.iter().filter_map(of_method).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// `ensemble 0.87: baseline +0.12, mean 0.98 adds +1.21, …`: in log-odds, the largest contribution first.
fn render_ensemble(out: &mut String, result: &CheckResult, layout: &Layout) {
    let (Some(probability), Some(ensemble)) = (result.scores.ensemble, &result.ensemble) else { return };
    let mut parts: Vec<(f64, String)> = Vec::new();
    let mut silent = Vec::new();
    for input in &ensemble.inputs {
        let name = one_line(&input.name);
        match (input.value, input.contribution) {
            (Some(value), Some(contribution)) => {
                parts.push((contribution, format!("{name} {value:.2} adds {contribution:+.2}")));
            }
            _ => silent.push(name),
        }
    }
    parts.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let start = format!("ensemble {:.2}, in log-odds: baseline {:+.2}", probability.get(), ensemble.baseline);
    let said = std::iter::once(start).chain(parts.into_iter().map(|(_, part)| part));
    let mut text = said.collect::<Vec<_>>().join(", ");
    if !silent.is_empty() {
        push(&mut text, format_args!("; without {}", silent.join(", ")));
    }
    for (index, line) in wrap(&text, layout.columns.saturating_sub(4)).iter().enumerate() {
        let indent = if index == 0 { "  " } else { "    " };
        push(out, format_args!("{indent}{}\n", layout.palette.dim(line)));
    }
}

fn header(result: &CheckResult, palette: Palette) -> String {
    let verdict = match (result.verdict, result.status) {
        (Some(verdict), Status::Partial) => format!("{} (partly checked)", verdict_name(Some(verdict))),
        (Some(verdict), _) => verdict_name(Some(verdict)).to_owned(),
        (None, Status::Failed) => "not checked".to_owned(),
        (None, _) if result.coverage.is_some() => "no verdict".to_owned(),
        (None, _) => "nothing to check".to_owned(),
    };
    let mut parts = vec![palette.bold(&one_line(&result.id)), palette.verdict(result.verdict, &verdict)];
    let numbers =
        [("min", result.scores.min), ("mean", result.scores.mean), ("weighted", result.scores.weighted)];
    let shown = numbers.iter().filter_map(|(name, score)| Some(format!("{name} {:.2}", (*score)?.get())));
    let shown = shown.collect::<Vec<_>>();
    if !shown.is_empty() {
        parts.push(format!("support: {}", shown.join("  ")));
    }
    if let Some(coverage) = result.coverage {
        // Rounded down: 199 of 200 sentences are not "100 %".
        parts.push(format!("coverage {:.0} %", (coverage * 100.0).floor()));
    }
    parts.join("  ") + "\n"
}

/// The numbers that come from the matrix.
fn summac_line(result: &CheckResult) -> String {
    let scores = &result.scores;
    let numbers = [
        ("summac", scores.summac.map(|score| f64::from(score.get()))),
        ("summac_zs", scores.summac_zs),
        ("summac_conv", scores.summac_conv.map(|score| f64::from(score.get()))),
    ];
    let shown = numbers.iter().filter_map(|(name, score)| Some(format!("  {name} {:.2}", (*score)?)));
    shown.collect::<String>() + "\n"
}

fn verdict_name(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Supported) => "supported",
        Some(Verdict::Contradicted) => "contradicted",
        Some(Verdict::NotMentioned) => "not mentioned",
        None => "not checked",
    }
}

fn mark(verdict: Option<Verdict>, status: SentenceStatus) -> &'static str {
    match (verdict, status) {
        (Some(Verdict::Supported), _) => "✓",
        (Some(Verdict::Contradicted), _) => "✗",
        (Some(Verdict::NotMentioned), _) => "?",
        (None, SentenceStatus::Failed) => "!",
        (None, _) => "·",
    }
}

/// `✓ supported      support 0.98`, 29 columns. The number is named: beside "contradicted" it would be read as a confidence.
fn label(
    verdict: Option<Verdict>,
    status: SentenceStatus,
    support: Option<Probability>,
    palette: Palette,
) -> String {
    let name = format!("{} {:<14}", mark(verdict, status), verdict_name(verdict));
    let support = support.map_or_else(|| " ".repeat(12), |support| format!("support {:.2}", support.get()));
    format!("{} {support}", palette.verdict(verdict, &name))
}

fn render_sentence(out: &mut String, sentence: &SentenceResult, layout: &Layout) {
    let palette = layout.palette;
    let text = one_line(&sentence.text);
    let label = label(sentence.verdict, sentence.status, sentence.support_probability, palette);
    let dimmed = sentence.status == SentenceStatus::Abstained;
    render_labelled(out, &label, &text, dimmed, layout);
    if let Some(detail) = &sentence.detail {
        let by = if sentence.reason == VerdictReason::Judge { "judge: " } else { "" };
        render_lines(out, &format!("{by}{}", one_line(detail)), layout, |line| palette.warn(line));
    }
    for evidence in sentence.evidence.iter().take(layout.evidence) {
        render_evidence(out, evidence, (sentence.verdict, sentence.reason), layout);
    }
    // A sentence that is one fact has been shown already.
    let facts = sentence.facts.iter().filter(|fact| sentence.facts.len() > 1 || fact.text != sentence.text);
    for fact in facts {
        render_fact(out, fact, layout);
    }
}

fn render_labelled(out: &mut String, label: &str, text: &str, dimmed: bool, layout: &Layout) {
    let indent = indent(layout);
    out.push_str("  ");
    out.push_str(label);
    let mut lines = wrap(text, layout.columns.saturating_sub(indent)).into_iter();
    if indent == INDENT {
        out.push_str("  ");
    } else {
        out.push('\n');
        out.push_str(&" ".repeat(indent));
    }
    let paint = |line: &str| if dimmed { layout.palette.dim(line) } else { line.to_owned() };
    out.push_str(&paint(&lines.next().unwrap_or_default()));
    out.push('\n');
    for line in lines {
        out.push_str(&" ".repeat(indent));
        out.push_str(&paint(&line));
        out.push('\n');
    }
}

fn indent(layout: &Layout) -> usize {
    if layout.columns >= WIDE_COLUMNS { INDENT } else { NARROW_INDENT }
}

fn render_lines(out: &mut String, text: &str, layout: &Layout, paint: impl Fn(&str) -> String) {
    let indent = indent(layout);
    for line in wrap(text, layout.columns.saturating_sub(indent)) {
        out.push_str(&" ".repeat(indent));
        out.push_str(&paint(&line));
        out.push('\n');
    }
}

/// `source-1 bytes 0..52 entails 0.98: “quote”`.
fn render_evidence(
    out: &mut String,
    evidence: &EvidenceResult,
    (verdict, reason): (Option<Verdict>, VerdictReason),
    layout: &Layout,
) {
    let finding = match verdict {
        Some(_) if reason == VerdictReason::Judge => "is quoted".to_owned(),
        Some(Verdict::Supported) => format!("entails {:.2}", evidence.support_probability.get()),
        // The numbers conflict, whatever the model makes of the sentence.
        Some(Verdict::Contradicted) if reason == VerdictReason::Numeric => "has another value".to_owned(),
        Some(Verdict::Contradicted) => format!("contradicts {:.2}", evidence.contradiction_probability.get()),
        _ => format!("nearest, entails {:.2}", evidence.support_probability.get()),
    };
    let unit = match layout.offsets {
        OffsetUnit::Bytes => "bytes",
        OffsetUnit::Chars => "characters",
        OffsetUnit::Utf16 => "UTF-16 units",
    };
    let (source, quote) = (one_line(&evidence.source), one_line(&evidence.text));
    let text = format!("{source} {unit} {}..{} {finding}: “{quote}”", evidence.start, evidence.end);
    render_lines(out, &text, layout, |line| layout.palette.dim(line));
}

fn render_fact(out: &mut String, fact: &FactResult, layout: &Layout) {
    let support = fact.support_probability.map_or_else(String::new, |p| format!(" support {:.2} ", p.get()));
    let mark = mark(fact.verdict, fact.status);
    let text = format!("{mark}{support} {}", one_line(&fact.text));
    render_lines(out, &text, layout, |line| layout.palette.verdict(fact.verdict, line));
}

/// Notes of the result, and methods that gave no number, once each.
fn render_notes(out: &mut String, result: &CheckResult, layout: &Layout) {
    let failed = result.methods.iter().filter(|(_, method)| method.status == MethodStatus::Failed);
    // A deadline is one thing to know, however many methods it cut short.
    let known = |code| result.notes.iter().any(|note| note.code == code);
    let reasons = failed.filter_map(|(name, method)| {
        let reason = method.reason.as_ref().filter(|reason| !known(reason.code))?;
        Some((reason.code, format!("method {name}: {}", reason.message), None))
    });
    // Without the matrix no number of SummaC-Conv is shown, so there is none to warn of.
    let told = |code| code != Code::FOREIGN_BACKBONE || result.matrix.is_some();
    let notes = result
        .notes
        .iter()
        .filter(|note| told(note.code))
        .map(|note| (note.code, note.message.clone(), note.location.clone()));
    for (code, message, location) in notes.chain(reasons) {
        let place = location.map(|place| format!(" ({})", one_line(&place))).unwrap_or_default();
        let title = format!("note[{code}]:");
        let text = format!("{}{place}", one_line(&message));
        let first = layout.columns.saturating_sub(3 + width(&title));
        for (index, line) in wrap(&text, first).iter().enumerate() {
            let lead = if index == 0 { layout.palette.bold(&title) } else { " ".repeat(width(&title)) };
            push(out, format_args!("  {lead} {line}\n"));
        }
    }
}

#[cfg(test)]
mod tests;
