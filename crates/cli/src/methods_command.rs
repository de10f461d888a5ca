//! `groundline methods`.

use crate::failure::Failure;
use crate::output::{Sink, push, wrap};
use groundline::methods;
use serde_json::json;

/// Width of the text.
const COLUMNS: usize = 96;

/// Lists the methods, as text or as JSON.
pub(crate) fn run(as_json: bool, sink: &mut Sink) -> Result<(), Failure> {
    sink.write(&if as_json { json_listing()? } else { listing() })?;
    Ok(())
}

fn json_listing() -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&json!({ "methods": methods() }))? + "\n")
}

fn listing() -> String {
    let mut text =
        String::from("Methods of `groundline check --methods`; those marked * are in `default`.\n");
    for method in methods() {
        let star = if method.in_default { "*" } else { " " };
        push(&mut text, format_args!("\n{star} {}\n", method.name));
        let needs = method.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>().join(", ");
        let paper = if method.paper.is_empty() { "our own" } else { method.paper };
        let number = format!("{} ({}, {})", method.number, method.range, method.direction());
        let parts = [
            method.summary.to_owned(),
            format!("number: {number}"),
            format!("about:  {}", method.speaks_about),
            format!("needs:  {needs}"),
            format!("cost:   {}", method.cost),
            format!("paper:  {paper}"),
        ];
        for line in parts.iter().flat_map(|part| wrap(part, COLUMNS)) {
            push(&mut text, format_args!("    {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_stand_between_methods_and_nowhere_else() {
        let text = listing();
        assert_eq!(text.lines().filter(|line| line.trim().is_empty()).count(), methods().len(), "{text}");
    }

    #[test]
    fn the_json_has_every_method_with_what_it_needs() {
        let listed: serde_json::Value = serde_json::from_str(&json_listing().unwrap()).unwrap();
        let listed = listed["methods"].as_array().unwrap();
        assert_eq!(listed.len(), methods().len());
        let nli = listed.iter().find(|method| method["name"] == "selfcheck_nli").unwrap();
        assert_eq!(
            (&nli["needs"][0], &nli["polarity"]),
            (&json!("samples"), &json!("higher_is_hallucinated"))
        );
    }
}
