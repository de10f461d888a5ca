//! From options to requests.

use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::input::{InputLimits, Position, Record, display_name, is_same_file, is_stdin, read_text};
use crate::output::one_line;
use groundline::Config;
use groundline_types::{CheckRequest, Lane, Source};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The deadline of a request that names none: a week. A person watches and can press Ctrl-C; a run of hours is theirs to
/// decide.
const NO_DEADLINE_MS: u64 = 7 * 24 * 3600 * 1000;

/// What there is to check.
#[derive(Debug)]
pub(super) enum Input {
    /// One response from options.
    One(Box<Record>),
    /// JSON and JSONL files.
    Files(Vec<PathBuf>),
}

/// The limits of the configuration.
pub(super) fn input_limits(config: &Config) -> InputLimits {
    InputLimits { request: config.limits.request(), line_bytes: config.limits.line_bytes }
}

/// What the options name. Nothing but texts of bounded size is read here.
pub(super) fn input(args: &CheckArgs, limits: &InputLimits) -> Result<Input, Failure> {
    let files = args.files.iter().chain(&args.input).cloned().collect::<Vec<_>>();
    let all = files.iter().chain(&args.source).chain(&args.response);
    if all.filter(|path| is_stdin(path)).count() > 1 {
        return Err(usage("standard input (-) is given twice", "only one of them can be read from there"));
    }
    if !files.is_empty() {
        return Ok(Input::Files(files));
    }
    // What is compared with other answers needs no evidence.
    let has_source = !args.source.is_empty() || !args.source_text.is_empty() || args.draw_samples;
    let has_response = args.response.is_some() || args.claim.is_some();
    match (has_source, has_response) {
        (true, true) => {}
        (false, false) => {
            let hint = "give --source FILE and --response FILE, or a JSON or JSONL file with requests";
            return Err(usage("nothing to check", hint));
        }
        (true, false) => {
            return Err(usage(
                "there is a source and no response",
                "give it with --response FILE or --claim TEXT",
            ));
        }
        (false, true) => {
            let hint = "give the evidence with --source FILE or --source-text TEXT";
            return Err(usage("there is a response and no source", hint));
        }
    }
    Ok(Input::One(Box::new(from_texts(args, limits))))
}

fn usage(message: &str, hint: &str) -> Failure {
    Failure::Usage(message.to_owned(), hint.to_owned())
}

/// A request from --source, --response and their like; an unreadable file is the record's error.
fn from_texts(args: &CheckArgs, limits: &InputLimits) -> Record {
    let read = || {
        let mut sources = Vec::new();
        for path in &args.source {
            let text = read_text(path, limits.request.source_bytes)?;
            let id =
                (!is_stdin(path)).then(|| path.file_name().map(|name| name.display().to_string())).flatten();
            sources.push(Source { id, title: None, text: text.into() });
        }
        let inline = args.source_text.iter();
        sources.extend(inline.map(|text| Source { id: None, title: None, text: text.as_str().into() }));
        distinguish(&mut sources);
        let response = match (&args.response, &args.claim) {
            (Some(path), _) => read_text(path, limits.request.response_bytes)?,
            (None, claim) => claim.clone().unwrap_or_default(),
        };
        let mut request = CheckRequest::with_sources(response, sources);
        (request.draw_samples, request.question) = (args.draw_samples, args.question.clone());
        request.validate(&limits.request).map(|()| request)
    };
    let name = args.response.as_ref().filter(|path| !is_stdin(path)).and_then(|path| path.file_name());
    let id = name.map(|name| name.display().to_string());
    Record { position: Position::default(), id, request: read(), bytes_read: 0 }
}

/// Two files of one name in different folders get their number, so that evidence names one source.
fn distinguish(sources: &mut [Source]) {
    let mut taken = sources.iter().filter_map(|source| source.id.clone()).collect::<BTreeSet<_>>();
    let mut seen = BTreeSet::new();
    for source in sources {
        let Some(id) = source.id.clone() else { continue };
        if seen.insert(id.clone()) {
            continue;
        }
        let other =
            (2_usize..).map(|number| format!("{id} ({number})")).find(|other| taken.insert(other.clone()));
        source.id = other;
    }
}

/// Refuses to write over what is read: the output is made anew before the first response is read.
pub(super) fn refuse_overwriting(args: &CheckArgs, config_file: Option<&Path>) -> Result<(), Failure> {
    let Some(output) = &args.output else { return Ok(()) };
    let texts = args.source.iter().chain(&args.response);
    let inputs = args.files.iter().chain(&args.input).chain(texts).map(PathBuf::as_path);
    let same = inputs.chain(config_file).find(|input| is_same_file(input, output));
    match same {
        Some(input) => {
            let message =
                format!("the output is the same file as the input {}", one_line(&display_name(input)));
            Err(usage(&message, "give --output another name"))
        }
        None => Ok(()),
    }
}

/// The request with the options that hold for all: they win over what the request says.
pub(super) fn complete(
    mut request: CheckRequest,
    id: &str,
    args: &CheckArgs,
    config: &Config,
) -> CheckRequest {
    request.id = Some(id.to_owned());
    request.lane = request.lane.or(Some(Lane::Bulk));
    request.facts |= args.facts;
    request.matrix |= args.matrix;
    if !args.methods.is_empty() {
        request.methods.clone_from(&args.methods);
        request.policy = None;
    }
    request.policy = args.policy.clone().or(request.policy);
    request.question = args.question.clone().or(request.question);
    request.generator = args.generator.clone().or(request.generator);
    request.draw_samples |= args.draw_samples;
    // The option is a part of the configuration by now.
    let own = request.offsets.filter(|_| args.offsets.is_none());
    request.offsets = own.or(Some(config.output.offsets));
    let given = args.deadline.map(|seconds| (seconds * 1000.0).ceil() as u64);
    request.deadline_ms = given.or(request.deadline_ms).or(Some(NO_DEADLINE_MS));
    request
}

#[cfg(test)]
mod tests;
