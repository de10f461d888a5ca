//! `groundline models precision`.

use super::shown;
use crate::failure::{EXIT_OK, Failure};
use crate::output::{Sink, one_line, push};
use groundline::{Config, MeasuredPrecision, PRECISION_FILE, Precision, measure_precision};
use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

/// Measures, and says what was found and written.
pub(crate) fn run(config: &Config, pairs: &Path, sink: &mut Sink) -> Result<u8, Failure> {
    let mut stderr = std::io::stderr();
    let is_terminal = stderr.is_terminal();
    let measured = measure_precision(config, pairs, |precision, done, count| {
        if is_terminal {
            // Progress that cannot be written is no reason to stop.
            let _ = write!(stderr, "\r{precision}: {done} of {count} pairs\x1b[K");
            let _ = stderr.flush();
        }
    });
    if is_terminal {
        let _ = write!(stderr, "\r\x1b[K");
    }
    let measured = measured.map_err(Failure::File)?;
    let record = &measured.record;
    let mut text = String::new();
    push(
        &mut text,
        format_args!("{} pairs of {}, beside single precision\n", record.pairs, one_line(&record.text)),
    );
    push(
        &mut text,
        format_args!(
            "    {:<24}{:>11}{:>9}{:>13}{:>17}\n",
            "", "mean drift", "largest", "same verdict", "clearest change"
        ),
    );
    for one in &record.measured {
        push(&mut text, format_args!("{}\n", row(one)));
    }
    let auto = record.fastest().unwrap_or(Precision::F32);
    push(&mut text, format_args!("    auto   {auto}, on a processor that has its instructions\n"));
    push(&mut text, format_args!("    wrote  {}\n", shown(&measured.folder.join(PRECISION_FILE))));
    sink.write(&text)?;
    Ok(EXIT_OK)
}

fn row(one: &MeasuredPrecision) -> String {
    format!(
        "    {:<24}{:>11.4}{:>9.3}{:>11.2} %{:>17.3}  {}",
        one.precision.name(),
        one.mean_drift,
        one.largest_drift,
        one.agreement * 100.0,
        one.largest_margin,
        if one.passes() { "passes" } else { "does not pass" }
    )
}
