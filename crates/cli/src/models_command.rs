//! `groundline models`.

mod baseline;
mod candidates;
mod convert;
mod precision;

use crate::args::{ModelsArgs, ModelsCommand};
use crate::console::Console;
use crate::failure::{EXIT_INPUT, EXIT_OK, Failure};
use crate::output::{Sink, one_line, push};
use groundline::{
    BaselineOptions, Config, ConfigLayers, describe_model, list_models, model_folders, verify_model,
};
use std::path::Path;

/// Lists models or verifies one, and answers with the exit status.
pub(crate) fn run(
    args: ModelsArgs,
    mut layers: ConfigLayers,
    console: &mut Console,
    sink: &mut Sink,
) -> Result<u8, Failure> {
    match args.command {
        None | Some(ModelsCommand::List) => list(&layers.load()?, sink),
        Some(ModelsCommand::Verify { model, labels }) => {
            if let Some(model) = model {
                layers = layers.set("model.name", model);
            }
            if !labels.is_empty() {
                layers = layers.set("model.labels", labels);
            }
            verify(&layers.load()?, sink)
        }
        Some(ModelsCommand::Baseline { model, texts, pairs, seed }) => {
            let config = layers.set("model.name", model).load()?;
            baseline::run(&config, &texts, BaselineOptions { pairs, seed }, sink)
        }
        Some(ModelsCommand::Precision { model, pairs }) => {
            let config = layers.set("model.name", model).load()?;
            precision::run(&config, &pairs, console, sink)
        }
        Some(ModelsCommand::Candidates { files, candidates, methods, model, json }) => {
            if let Some(model) = model {
                layers = layers.set("model.name", model);
            }
            let measurement = candidates::Measurement { files, candidates, methods, json };
            candidates::run(measurement, &layers.load()?, console, sink)
        }
        Some(ModelsCommand::Convert { file, folder, preset, base }) => {
            convert::run(&convert::Conversion { file, folder, preset, base }, sink)
        }
    }
}

fn list(config: &Config, sink: &mut Sink) -> Result<u8, Failure> {
    let models = list_models(config);
    let mut text = String::new();
    for model in &models {
        let star = if model.name == config.model.name { " (default)" } else { "" };
        push(&mut text, format_args!("{}{star}\n", one_line(&model.name)));
        match describe_model(&model.path) {
            Ok(details) => {
                let revision =
                    details.revision.map(|revision| format!(", revision {revision}")).unwrap_or_default();
                let kind = format!("{}{revision}, {}", details.model_type, size(details.size_bytes));
                push(&mut text, format_args!("    kind    {}\n", one_line(&kind)));
                push(&mut text, format_args!("    labels  {}\n", one_line(&details.labels.join(", "))));
            }
            Err(problem) => push(&mut text, format_args!("    broken  {}\n", one_line(&problem.message))),
        }
        push(&mut text, format_args!("    path    {}\n", shown(&model.path)));
    }
    if models.is_empty() {
        text += "no model found; looked in\n";
        for folder in model_folders(config) {
            push(&mut text, format_args!("    {}\n", shown(&folder)));
        }
    }
    sink.write(&text)?;
    Ok(EXIT_OK)
}

fn verify(config: &Config, sink: &mut Sink) -> Result<u8, Failure> {
    let found = verify_model(config)?;
    let model = &found.description;
    let mut text = format!("{} loads\n", one_line(&model.id.name));
    push(&mut text, format_args!("    path       {}\n", shown(&found.path)));
    push(&mut text, format_args!("    revision   {}\n", model.id.revision));
    let millions = model.parameters as f64 / 1e6;
    let dtypes = model.dtypes.join(", ");
    push(
        &mut text,
        format_args!("    kind       {}, {millions:.1} M parameters in {dtypes}\n", model.architecture),
    );
    push(&mut text, format_args!("    labels     {}\n", one_line(&model.labels.join(", "))));
    push(&mut text, format_args!("    engine     {}\n", model.engine));
    for file in &model.files {
        push(&mut text, format_args!("    file       {}, {}\n", one_line(&file.name), size(file.size_bytes)));
    }
    if !found.report.has_golden {
        text += "    reference  none: the folder has no golden.json to compare with\n";
    }
    let tolerance = found.report.tolerance;
    for comparison in &found.report.comparisons {
        let (what, cases, difference) = (comparison.what, comparison.cases, comparison.largest_difference);
        push(
            &mut text,
            format_args!(
                "    reference  {what} of {cases} cases: largest difference {difference:.1e} (up to {tolerance:.0e} passes)\n"
            ),
        );
    }
    if found.report.token_mismatches > 0 {
        let mismatches = found.report.token_mismatches;
        push(&mut text, format_args!("    reference  {mismatches} cases have other tokens than here\n"));
    }
    let passed = found.report.has_passed();
    text += match (passed, found.report.has_golden) {
        (true, true) => "    verdict    fine\n",
        (true, false) => "    verdict    loads; nothing to compare with\n",
        (false, _) => "    verdict    wrong: it does not compute what its reference did\n",
    };
    sink.write(&text)?;
    Ok(if passed { EXIT_OK } else { EXIT_INPUT })
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
