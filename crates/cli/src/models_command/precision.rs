//! `groundline models precision`.

use super::shown;
use crate::console::Console;
use crate::failure::{EXIT_OK, Failure};
use crate::output::{Sink, one_line, push};
use groundline::{Config, MeasuredPrecision, PRECISION_FILE, Precision, measure_precision};
use std::path::Path;

/// Measures, and says what was found and written.
pub(crate) fn run(
    config: &Config,
    pairs: &Path,
    console: &mut Console,
    sink: &mut Sink,
) -> Result<u8, Failure> {
    let measured = measure_precision(config, pairs, |precision, done, count| {
        console.draw(done as u64, count as u64, format!("{precision}: {done} of {count} pairs"));
    });
    console.clear();
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
    // Before it is written: where that fails, what took so long is not lost.
    sink.write(&text)?;
    record.write(&measured.folder)?;
    sink.write(&format!("    wrote  {}\n", shown(&measured.folder.join(PRECISION_FILE))))?;
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
