//! `groundline methods`.

use crate::failure::Failure;
use crate::output::{Sink, push, wrap};
use groundline::methods;
use groundline_types::Polarity;

/// Width of the text.
const COLUMNS: usize = 96;

/// Lists the methods.
pub(crate) fn run(sink: &mut Sink) -> Result<(), Failure> {
    let mut text =
        String::from("Methods of `groundline check --methods`; those marked * are in `default`.\n");
    for method in methods() {
        let star = if method.in_default { "*" } else { " " };
        let direction = match method.polarity {
            Polarity::HigherIsSupported => "higher is better supported",
            Polarity::HigherIsHallucinated => "higher is worse",
        };
        push(&mut text, format_args!("\n{star} {}\n", method.name));
        for part in [method.summary, method.paper, direction] {
            for line in wrap(part, COLUMNS) {
                push(&mut text, format_args!("    {line}\n"));
            }
        }
    }
    sink.write(&text)?;
    Ok(())
}
