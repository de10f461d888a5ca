//! One JSON object a line.

use crate::input::Position;
use groundline_types::{CheckResult, Problem};
use serde::Serialize;

/// Name and version of the schema of what stands in the place of a result that could not be made.
pub(crate) const ERROR_SCHEMA: &str = "groundline.error/1";

#[derive(Serialize)]
struct ErrorLine<'a> {
    schema: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    item: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    code: &'static str,
    message: &'a str,
}

/// A result as one line with its line end.
pub(crate) fn result_line(result: &CheckResult) -> Result<String, serde_json::Error> {
    serde_json::to_string(result).map(|line| line + "\n")
}

/// What stands in the place of a result: which line was broken and why.
pub(crate) fn error_line(
    position: &Position,
    id: Option<&str>,
    problem: &Problem,
) -> Result<String, serde_json::Error> {
    let line = ErrorLine {
        schema: ERROR_SCHEMA,
        file: position.file.as_deref(),
        line: position.line,
        item: position.item,
        id,
        code: problem.code.as_str(),
        message: &problem.message,
    };
    serde_json::to_string(&line).map(|line| line + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use groundline_types::Code;

    #[test]
    fn a_broken_line_leaves_an_object_with_its_number_in_its_place() {
        let position = Position { file: Some("a.jsonl".into()), line: Some(3), item: None };
        let problem = Problem::new(Code::MALFORMED_JSON, "not valid JSON at column 2");
        assert_eq!(
            error_line(&position, None, &problem).unwrap(),
            "{\"schema\":\"groundline.error/1\",\"file\":\"a.jsonl\",\"line\":3,\"code\":\"GL1006\",\
             \"message\":\"not valid JSON at column 2\"}\n"
        );
    }
}
