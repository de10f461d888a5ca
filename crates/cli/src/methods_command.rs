//! `groundline methods`.

use crate::failure::Failure;
use crate::output::{Sink, push, wrap};
use groundline::methods;
use groundline_types::Polarity;

/// Width of the text.
const COLUMNS: usize = 96;

/// Lists the methods.
pub(crate) fn run(sink: &mut Sink) -> Result<(), Failure> {
    sink.write(&listing())?;
    Ok(())
}

fn listing() -> String {
    let mut text =
        String::from("Methods of `groundline check --methods`; those marked * are in `default`.\n");
    for method in methods() {
        let star = if method.in_default { "*" } else { " " };
        let direction = match method.polarity {
            Polarity::HigherIsSupported => "higher is better supported",
            Polarity::HigherIsHallucinated => "higher is worse",
        };
        push(&mut text, format_args!("\n{star} {}\n", method.name));
        // Not every method comes from a paper.
        let parts = [method.summary, method.paper, direction];
        for part in parts.iter().filter(|part| !part.is_empty()) {
            for line in wrap(part, COLUMNS) {
                push(&mut text, format_args!("    {line}\n"));
            }
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
}
