//! The reference part of `docs/telemetry.md`, generated from the inventory.

use crate::evaluation::{EVALUATION_EVENT, EvaluationLabel};
use crate::instruments::INVENTORY;
use crate::inventory::{Label, LabelValues};
use crate::span::{SpanKey, SpanName};

/// The tables of `docs/telemetry.md` in Markdown.
pub fn reference_page() -> String {
    let metrics = INVENTORY.iter().map(|metric| {
        let labels = metric.labels.iter().map(label).collect::<Vec<_>>().join("; ");
        format!(
            "| `{}` | {} | {} | {labels} | {} |\n",
            metric.name,
            metric.kind.name(),
            unit(metric.unit),
            metric.help
        )
    });
    let spans = SpanName::ALL.iter().map(|(name, help)| format!("| `{}` | {help} |\n", name.as_str()));
    let keys = SpanKey::ALL.iter().map(|(key, help)| format!("| `{}` | {help} |\n", key.as_str()));
    let labels = EvaluationLabel::TEXTS.iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(", ");
    format!(
        "### Metrics\n\n| name | kind | unit | labels | what it says |\n|---|---|---|---|---|\n{}\n\
         ### Spans\n\n| span | what it covers |\n|---|---|\n{}\n\
         | attribute | meaning |\n|---|---|\n{}\n\
         ### Event\n\n`{EVALUATION_EVENT}`, with `gen_ai.evaluation.score.label` one of {labels}.\n",
        metrics.collect::<String>(),
        spans.collect::<String>(),
        keys.collect::<String>(),
    )
}

fn unit(unit: &str) -> &str {
    match unit {
        "s" => "seconds",
        "1" => "",
        other => other.trim_matches(['{', '}']),
    }
}

fn label(label: &Label) -> String {
    match label.values {
        LabelValues::OneOf(values) => format!("`{}`: {}", label.name, values.join(", ")),
        LabelValues::Code => format!("`{}`: a [code](errors/README.md)", label.name),
        LabelValues::Tenant => format!("`{}`: a name, or other", label.name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/telemetry.md");
    const BEGIN: &str = "<!-- generated: begin -->\n";
    const END: &str = "<!-- generated: end -->";

    #[test]
    fn the_page_has_the_inventory_as_it_is() {
        let page = std::fs::read_to_string(PAGE).unwrap();
        let (before, rest) = page.split_once(BEGIN).expect("the page marks where the generated part begins");
        let (inside, after) = rest.split_once(END).expect("the page marks where the generated part ends");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(PAGE, format!("{before}{BEGIN}{}{END}{after}", reference_page())).unwrap();
            return;
        }
        let hint = "run `UPDATE=1 cargo test -p groundline-telemetry document` and read the difference";
        assert!(inside == reference_page(), "docs/telemetry.md is not the inventory; {hint}");
    }
}
