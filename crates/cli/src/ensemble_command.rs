//! `groundline ensemble`.

mod table;

use crate::args::{EnsembleCommand, LabelledArgs};
use crate::failure::Failure;
use crate::input::{display_name, read_text};
use crate::output::{Sink, one_line};
use groundline::{Config, Ensemble, ensemble_scene};
use groundline_evaluation::{Item, Selection, compare, default_groups, fit, labels, prepare};
use groundline_types::{CheckResult, Code, Problem};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// Largest file that is read: results of some hundred thousand responses.
const MAX_FILE_BYTES: usize = 2 << 30;

/// Prepares, fits or reports. What a person should know goes to `tell`, results to the sink.
pub(crate) fn run(
    command: EnsembleCommand,
    config: &Config,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    match command {
        EnsembleCommand::Prepare { files, rows, source_words, response_words, output } => {
            let selection = Selection { rows, source_words, response_words };
            prepare_sets(&files, selection, output.as_deref(), tell)
        }
        EnsembleCommand::Fit { labelled, name, output } => {
            fit_profile(&labelled, &name, config, output.as_deref(), tell)
        }
        EnsembleCommand::Report { labelled, profile, inputs, draws, json } => {
            let ensemble = Ensemble::parse(read_text(&profile, MAX_FILE_BYTES)?.as_bytes())?;
            let binding = &ensemble.profile().binding;
            let fits = |result: &CheckResult| result.model.revision == binding.revision;
            let items = items(&labelled, fits, tell)?;
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let comparison = compare(&ensemble, &inputs, &items, draws)?;
            let text = match json {
                true => serde_json::to_string_pretty(&comparison)? + "\n",
                false => table::render(&comparison),
            };
            Ok(Sink::stdout().write(&text)?)
        }
    }
}

fn prepare_sets(
    files: &[PathBuf],
    selection: Selection,
    output: Option<&Path>,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let mut text = String::new();
    for file in files {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let set = prepare(&name, &objects(file)?, selection);
        let (taken, usable, rows) = (set.requests.len(), set.usable, set.rows);
        tell(&format!("{}: {taken} of {usable} usable rows, {rows} in all", one_line(&name)));
        if usable == 0 {
            return Err(nothing_usable(file, rows, selection).into());
        }
        for request in set.requests {
            text += &serde_json::to_string(&request)?;
            text.push('\n');
        }
    }
    Ok(sink(output)?.write(&text)?)
}

fn nothing_usable(file: &Path, rows: usize, selection: Selection) -> Problem {
    let message = format!(
        "{} has no usable row among its {rows}: a row needs `label` (0 or 1), `claim` or `response` of at most {} words, and `source` of at \
         most {} words or `samples`",
        one_line(&display_name(file)),
        selection.response_words,
        selection.source_words
    );
    Problem::new(Code::INVALID_FIELD, message)
}

fn fit_profile(
    labelled: &LabelledArgs,
    name: &str,
    config: &Config,
    output: Option<&Path>,
    tell: &mut dyn FnMut(&str),
) -> Result<(), Failure> {
    let scene = ensemble_scene(config)?;
    let fits = |result: &CheckResult| {
        result.model.revision == scene.binding.revision && result.config_hash == scene.config_hash
    };
    let items = items(labelled, fits, tell)?;
    let fitted = fit(name, scene.binding.clone(), &default_groups(), &items)?;
    for (group, penalty, trials) in &fitted.trials {
        let tried = trials.iter().map(|trial| format!("{}: {:.1}", trial.penalty, 100.0 * trial.auc));
        let tried = tried.collect::<Vec<_>>().join(", ");
        tell(&format!("{group}: penalty {penalty}; AUC on what was left out, by penalty: {tried}"));
    }
    if fitted.left_out > 0 {
        tell(&format!("{} responses had no group of inputs whole and were left out", fitted.left_out));
    }
    let text = serde_json::to_string_pretty(fitted.ensemble.profile())? + "\n";
    Ok(sink(output)?.write(&text)?)
}

fn sink(output: Option<&Path>) -> Result<Sink, Failure> {
    Ok(match output {
        Some(path) => Sink::file(path)?,
        None => Sink::stdout(),
    })
}

/// Labels and results together. A result that `fits` refuses is of another model, or of other settings.
fn items(
    labelled: &LabelledArgs,
    fits: impl Fn(&CheckResult) -> bool,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<Item>, Failure> {
    let mut requests = Vec::new();
    for file in &labelled.requests {
        requests.extend(objects(file)?);
    }
    let labels = labels(&requests)?;
    let (mut items, mut unusable) = (Vec::new(), 0);
    for file in &labelled.results {
        for (index, object) in objects(file)?.into_iter().enumerate() {
            // What could not be checked has an error in its place.
            let Ok(result) = serde_json::from_value::<CheckResult>(object.into()) else {
                unusable += 1;
                continue;
            };
            let Some(label) = labels.get(&result.id) else { continue };
            if !fits(&result) {
                return Err(foreign(file, index + 1).into());
            }
            match Item::new(label, &result) {
                Some(item) => items.push(item),
                None => unusable += 1,
            }
        }
    }
    if unusable > 0 {
        tell(&format!("{unusable} responses were not checked, or no method gave a number"));
    }
    Ok(items)
}

fn foreign(file: &Path, line: usize) -> Problem {
    let message = format!(
        "{} line {line} is a result of another model or of other settings; check again with the same configuration and \
         ensemble.profile = \"off\"",
        one_line(&display_name(file))
    );
    Problem::new(Code::ENSEMBLE_PROFILE, message)
}

/// The objects of a JSONL file.
fn objects(file: &Path) -> Result<Vec<Map<String, Value>>, Problem> {
    let text = read_text(file, MAX_FILE_BYTES)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parse = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|_| {
            let name = one_line(&display_name(file));
            Problem::new(Code::MALFORMED_JSON, format!("{name} line {} is not a JSON object", index + 1))
        })
    };
    lines.map(parse).collect()
}
