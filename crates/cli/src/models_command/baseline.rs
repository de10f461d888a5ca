//! `groundline models baseline`.

use super::shown;
use crate::failure::{EXIT_OK, Failure};
use crate::output::{Sink, one_line, push};
use groundline::{BaselineOptions, Config, SIMILARITY_BASELINE_FILE, measure_baseline};
use std::path::Path;

/// Measures, and says what was written.
pub(crate) fn run(
    config: &Config,
    texts: &Path,
    options: BaselineOptions,
    sink: &mut Sink,
) -> Result<u8, Failure> {
    let measured = measure_baseline(config, texts, options).map_err(Failure::File)?;
    let baseline = &measured.baseline;
    let mut text = String::new();
    push(
        &mut text,
        format_args!("{}: unrelated sentences have an F1 of {:.4}\n", one_line(&measured.model), baseline.f1),
    );
    let of = one_line(&baseline.text);
    push(
        &mut text,
        format_args!("    from   {} pairs of {} sentences in {of}\n", baseline.pairs, baseline.sentences),
    );
    if measured.too_long > 0 {
        let too_long = measured.too_long;
        push(&mut text, format_args!("    less   {too_long} pairs that are longer than the model reads\n"));
    }
    let path = measured.folder.join(SIMILARITY_BASELINE_FILE);
    push(&mut text, format_args!("    wrote  {}\n", shown(&path)));
    sink.write(&text)?;
    Ok(EXIT_OK)
}
