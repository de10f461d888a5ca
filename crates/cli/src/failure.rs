//! How the command ends, and how it says what went wrong.

use crate::output::{Palette, WriteError, one_line, push};
use groundline_types::{Code, Problem};
use std::io;

/// Everything is fine.
pub(crate) const EXIT_OK: u8 = 0;
/// A response is below `--fail-under`.
pub(crate) const EXIT_BELOW: u8 = 1;
/// Bad input or usage.
pub(crate) const EXIT_INPUT: u8 = 2;
/// Ended by Ctrl-C: 128 + SIGINT.
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// Why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error with a code.
    Problem(Problem),
    /// An error with a code about a file that holds no requests.
    File(Problem),
    /// Options that do not go together; the second text says what to do.
    Usage(String, String),
    /// The reader of the output has gone; the exit status so far.
    OutputClosed(u8),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure::Problem(problem)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Closed => Failure::OutputClosed(EXIT_OK),
            WriteError::Failed(problem) => Failure::Problem(problem),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Problem::new(Code::INTERNAL, format!("cannot write the result as JSON: {error}")).into()
    }
}

impl Failure {
    /// The same failure of a command that reads files of another kind than requests.
    pub(crate) fn of_file(self) -> Self {
        match self {
            Failure::Problem(problem) => Failure::File(problem),
            other => other,
        }
    }

    /// The exit status.
    pub(crate) fn exit_status(&self) -> u8 {
        match self {
            Failure::Problem(problem) | Failure::File(problem) => problem.code.exit_status(),
            Failure::Usage(..) => EXIT_INPUT,
            Failure::OutputClosed(status) => *status,
        }
    }

    /// What is printed on standard error; empty where there is nothing to say.
    pub(crate) fn render(&self, palette: Palette) -> String {
        match self {
            Failure::Problem(problem) => render_problem(problem, None, palette),
            Failure::File(problem) => render(problem, None, hint_on_file(problem.code), palette),
            Failure::Usage(message, hint) => {
                format!("{} {message}\n{} {hint}\n", palette.bad("error:"), palette.bold("hint:"))
            }
            Failure::OutputClosed(_) => String::new(),
        }
    }
}

/// `error[GL1001]: place: message`, and a hint where there is one.
pub(crate) fn render_problem(problem: &Problem, place: Option<&str>, palette: Palette) -> String {
    render(problem, place, hint(problem.code), palette)
}

fn render(problem: &Problem, place: Option<&str>, hint: Option<&str>, palette: Palette) -> String {
    let title = palette.bad(&format!("error[{}]:", problem.code));
    let place = place.map(|place| format!("{}: ", one_line(place))).unwrap_or_default();
    let mut text = format!("{title} {place}{}\n", one_line(&problem.message));
    if let Some(hint) = hint {
        push(&mut text, format_args!("{} {hint}\n", palette.bold("hint:")));
    }
    text
}

/// The same for a file that holds no requests: what a request looks like says nothing of it.
fn hint_on_file(code: Code) -> Option<&'static str> {
    hint(code).filter(|_| !matches!(code, Code::MALFORMED_JSON | Code::INVALID_FIELD))
}

/// What to do about errors of a kind, where the message cannot know it.
fn hint(code: Code) -> Option<&'static str> {
    Some(match code {
        Code::EMPTY_RESPONSE => {
            "a response is the text to check; is the file or the field `response` filled?"
        }
        Code::EMPTY_SOURCE => "give the evidence with --source FILE, or in the field `source` or `sources`",
        Code::INVALID_UTF8 => "convert it to UTF-8, for example with `iconv -f latin1 -t utf-8`",
        Code::NUL_BYTE => "Groundline reads text; convert PDF, Word or UTF-16 files to UTF-8 text first",
        Code::TOO_LARGE => {
            "split it, or raise `limits` in a configuration file (see `groundline config default`)"
        }
        Code::MALFORMED_JSON | Code::INVALID_FIELD => {
            "a request looks like {\"source\": \"…\", \"response\": \"…\"}; see `groundline check --help`"
        }
        Code::UNKNOWN_METHOD => "`groundline methods` lists what there is",
        Code::INVALID_CONFIG => "`groundline config default` prints every option with its meaning",
        Code::MODEL_NOT_FOUND => "`groundline models` lists what is found; --model takes a name or a folder",
        Code::MODEL_CORRUPT | Code::TOKENIZER_CORRUPT => {
            "copy the model's folder again; is every file complete?"
        }
        Code::MODEL_UNSUPPORTED => {
            "Groundline runs DeBERTa, BERT, RoBERTa, T5 and ModernBERT models, from safetensors files; see models/README.md"
        }
        Code::UNKNOWN_LABELS => "name them in logit order: --labels entailment,neutral,contradiction",
        Code::INTERNAL => "this is a bug; please report it with the output of the same command with -v",
        _ => return None,
    })
}

/// Why a file operation failed, in words, without the number of the error.
pub(crate) fn io_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.split(" (os error").next().unwrap_or_default();
    let mut chars = reason.chars();
    match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => "unknown reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Palette = Palette { colored: false };

    #[test]
    fn an_error_names_its_code_its_place_and_what_to_do() {
        let failure = Failure::from(Problem::new(Code::UNKNOWN_METHOD, "unknown method `summa`"));
        assert_eq!(
            failure.render(PLAIN),
            "error[GL1012]: unknown method `summa`\nhint: `groundline methods` lists what there is\n"
        );
        let problem = Problem::new(Code::DEADLINE, "the deadline passed");
        assert_eq!(
            render_problem(&problem, Some("a\x1b.jsonl, line 3"), PLAIN),
            "error[GL2002]: a␛.jsonl, line 3: the deadline passed\n"
        );
    }

    #[test]
    fn what_a_request_looks_like_is_no_hint_on_a_file_of_another_kind() {
        for code in [Code::MALFORMED_JSON, Code::INVALID_FIELD] {
            let failure = || Failure::from(Problem::new(code, "what was found"));
            assert!(failure().render(PLAIN).contains("a request looks like"));
            assert_eq!(failure().of_file().render(PLAIN), format!("error[{code}]: what was found\n"));
            assert_eq!(failure().of_file().exit_status(), EXIT_INPUT);
        }
        let other = Failure::from(Problem::new(Code::INVALID_UTF8, "x")).of_file();
        assert!(other.render(PLAIN).contains("iconv"), "other hints stay");
    }

    #[test]
    fn exit_statuses_follow_the_code() {
        assert_eq!(Failure::from(Problem::new(Code::EMPTY_SOURCE, "x")).exit_status(), EXIT_INPUT);
        assert_eq!(Failure::from(Problem::new(Code::MODEL_NOT_FOUND, "x")).exit_status(), EXIT_INPUT);
        assert_eq!(Failure::from(Problem::new(Code::INTERNAL, "x")).exit_status(), 70);
    }

    #[test]
    fn the_reason_of_an_input_error_is_in_words() {
        let error = io::Error::from_raw_os_error(2);
        assert_eq!(io_reason(&error), "no such file or directory");
    }
}
