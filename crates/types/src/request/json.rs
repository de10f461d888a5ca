//! Reading a request from JSON, field by field, so that an error names the field and what was found there.

use super::policy::policy_of;
use super::{CheckRequest, Lane, Source, Turn};
use crate::{Code, OffsetUnit, Problem, nearest_name};
use serde_json::{Map, Value};

pub(super) const FIELDS: &[&str] = &[
    "id",
    "response",
    "source",
    "sources",
    "question",
    "history",
    "history_is_evidence",
    "samples",
    "draw_samples",
    "generator",
    "methods",
    "facts",
    "matrix",
    "profile",
    "policy",
    "deadline_ms",
    "lane",
    "offsets",
    "meta",
];

/// Fields with a meaning that a request cannot give them here, and why; `null` is accepted.
const REFUSED: &[(&str, &str)] =
    &[("tenant", "`tenant` comes from authentication and cannot be given in a request; leave it out")];

pub(super) fn parse(text: &str) -> Result<CheckRequest, Problem> {
    from_value(super::strict::read(text)?)
}

pub(super) fn from_value(value: Value) -> Result<CheckRequest, Problem> {
    let Value::Object(mut fields) = value else {
        return Err(wrong("the document", "an object", &value));
    };
    for (name, message) in REFUSED {
        if take(&mut fields, name).is_some() {
            return Err(Problem::new(Code::INVALID_FIELD, *message));
        }
    }
    known_fields(&fields, "", FIELDS)?;
    let response = text_of(&mut fields, "response")?.ok_or_else(|| missing("response"))?;
    let sources = sources_of(&mut fields)?;
    let mut request = CheckRequest::with_sources(response, sources);
    request.id = id_of(&mut fields)?;
    request.question = text_of(&mut fields, "question")?;
    request.profile = text_of(&mut fields, "profile")?;
    request.samples = texts_of(&mut fields, "samples")?.unwrap_or_default();
    request.draw_samples = flag_of(&mut fields, "draw_samples")?;
    request.generator = text_of(&mut fields, "generator")?;
    request.policy = policy_of(&mut fields)?;
    if let Some(methods) = texts_of(&mut fields, "methods")? {
        if request.policy.is_some() {
            let message = "give `methods` or `policy`, not both: a policy names its methods itself";
            return Err(Problem::new(Code::INVALID_FIELD, message));
        }
        request.methods = methods;
    }
    request.history = history_of(&mut fields)?;
    request.history_is_evidence = flag_of(&mut fields, "history_is_evidence")?;
    request.facts = flag_of(&mut fields, "facts")?;
    request.matrix = flag_of(&mut fields, "matrix")?;
    request.deadline_ms = match take(&mut fields, "deadline_ms") {
        None => None,
        Some(value) => match value.as_u64() {
            Some(ms) if ms > 0 => Some(ms),
            _ => return Err(wrong("deadline_ms", "a whole number of milliseconds above 0", &value)),
        },
    };
    request.lane = choice(&mut fields, "lane", &[("online", Lane::Online), ("bulk", Lane::Bulk)])?;
    let units = [("bytes", OffsetUnit::Bytes), ("chars", OffsetUnit::Chars), ("utf16", OffsetUnit::Utf16)];
    request.offsets = choice(&mut fields, "offsets", &units)?;
    Ok(request)
}

/// Takes a field out; `null` counts as absent.
pub(super) fn take(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.remove(name).filter(|value| !value.is_null())
}

fn text_of(fields: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Problem> {
    match take(fields, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(name, "a string", &other)),
    }
}

/// An id may be a number: many data sets count their rows.
fn id_of(fields: &mut Map<String, Value>) -> Result<Option<String>, Problem> {
    match take(fields, "id") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(wrong("id", "a string", &other)),
    }
}

fn flag_of(fields: &mut Map<String, Value>, name: &str) -> Result<bool, Problem> {
    match take(fields, name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(flag),
        Some(other) => Err(wrong(name, "true or false", &other)),
    }
}

pub(super) fn texts_of(fields: &mut Map<String, Value>, name: &str) -> Result<Option<Vec<String>>, Problem> {
    let items = match take(fields, name) {
        None => return Ok(None),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(wrong(name, "a list of strings", &other)),
    };
    let text = |(index, item)| match item {
        Value::String(text) => Ok(text),
        other => Err(wrong(&format!("{name}[{index}]"), "a string", &other)),
    };
    items.into_iter().enumerate().map(text).collect::<Result<_, _>>().map(Some)
}

fn sources_of(fields: &mut Map<String, Value>) -> Result<Vec<Source>, Problem> {
    let (one, many) = (take(fields, "source"), take(fields, "sources"));
    let items = match (one, many) {
        (Some(_), Some(_)) => {
            return Err(Problem::new(Code::INVALID_FIELD, "give `source` or `sources`, not both"));
        }
        (None, None) => return Ok(Vec::new()),
        // A list under `source` is what people write; there is no other way to read it.
        (Some(Value::Array(items)), None) | (None, Some(Value::Array(items))) => items,
        (Some(item), None) => vec![item],
        (None, Some(other)) => {
            return Err(wrong("sources", "a list of strings or of {id, text, title}", &other));
        }
    };
    items.into_iter().enumerate().map(|(index, item)| source_of(index, item)).collect()
}

fn source_of(index: usize, item: Value) -> Result<Source, Problem> {
    let at = format!("sources[{index}]");
    let mut fields = match item {
        Value::String(text) => return Ok(Source { id: None, title: None, text: text.into() }),
        Value::Object(fields) => fields,
        other => return Err(wrong(&at, "a string or {id, text, title}", &other)),
    };
    let inside = |problem: Problem| Problem::new(problem.code, format!("in {at}: {}", problem.message));
    let text = text_of(&mut fields, "text").map_err(inside)?.ok_or_else(|| missing(&format!("{at}.text")))?;
    let (id, title) = (id_of(&mut fields).map_err(inside)?, text_of(&mut fields, "title").map_err(inside)?);
    match fields.keys().next() {
        Some(unknown) => {
            Err(Problem::new(Code::INVALID_FIELD, format!("{at} has an unknown field {unknown:?}")))
        }
        None => Ok(Source { id, title, text: text.into() }),
    }
}

fn history_of(fields: &mut Map<String, Value>) -> Result<Vec<Turn>, Problem> {
    let items = match take(fields, "history") {
        None => return Ok(Vec::new()),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(wrong("history", "a list of {role, content}", &other)),
    };
    let turn = |(index, item)| {
        let at = format!("history[{index}]");
        let Value::Object(mut fields) = item else {
            return Err(wrong(&at, "an object {role, content}", &item));
        };
        let role = text_of(&mut fields, "role")?.ok_or_else(|| missing(&format!("{at}.role")))?;
        let content = text_of(&mut fields, "content")?.ok_or_else(|| missing(&format!("{at}.content")))?;
        Ok(Turn { role, content })
    };
    items.into_iter().enumerate().map(turn).collect()
}

pub(super) fn choice<T: Copy>(
    fields: &mut Map<String, Value>,
    name: &str,
    options: &[(&str, T)],
) -> Result<Option<T>, Problem> {
    let Some(value) = take(fields, name) else { return Ok(None) };
    let found = value.as_str().and_then(|text| options.iter().find(|(option, _)| *option == text));
    found.map(|(_, choice)| Some(*choice)).ok_or_else(|| {
        let names = options.iter().map(|(option, _)| *option).collect::<Vec<_>>().join(", ");
        wrong(name, &format!("one of {names}"), &value)
    })
}

fn missing(name: &str) -> Problem {
    Problem::new(Code::INVALID_FIELD, format!("the field `{name}` is missing"))
}

/// Says the kind of what was found, never its content: that is the user's text.
pub(super) fn wrong(name: &str, expected: &str, found: &Value) -> Problem {
    let kind = match found {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Problem::new(Code::INVALID_FIELD, format!("`{name}` must be {expected}, found {kind}"))
}

/// Refuses names that are not known; `inside` is the path of the object, with a dot at its end.
pub(super) fn known_fields(fields: &Map<String, Value>, inside: &str, known: &[&str]) -> Result<(), Problem> {
    let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let shown: String = unknown.chars().filter(|c| !c.is_control()).take(40).collect();
    let hint = match nearest_name(&shown, known.iter().copied()) {
        Some(known) => format!("; did you mean `{inside}{known}`?"),
        None => format!("; known fields are {}", known.join(", ")),
    };
    Err(Problem::new(Code::INVALID_FIELD, format!("unknown field `{inside}{shown}`{hint}")))
}
