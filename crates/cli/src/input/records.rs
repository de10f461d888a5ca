//! Requests from JSON and JSONL files, read on a thread of their own, one at a time.
//!
//! A file called `.jsonl` or `.ndjson` has a request on each line. Any other is looked at: where its first line is a whole
//! JSON value, it is read line by line; else it is one document, an object or a list of objects. Line by line, the file is
//! never held as a whole, and a broken line does not end the run.

use super::lines::{Line, Lines};
use super::texts::{InputLimits, open, unreadable, utf8};
use super::{Position, display_name, is_stdin};
use groundline_types::{CheckRequest, Code, Problem};
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// One request of the input, or why there is none in its place.
#[derive(Debug)]
pub(crate) struct Record {
    /// Where it stands.
    pub(crate) position: Position,
    /// The id that it gives itself, where that could be read; also where the rest is refused.
    pub(crate) id: Option<String>,
    /// The request.
    pub(crate) request: Result<CheckRequest, Problem>,
    /// Bytes of all files up to its end, for progress.
    pub(crate) bytes_read: u64,
}

/// Records read ahead of the one that is wanted.
const READ_AHEAD: usize = 1;

/// Reads `files` in order on a thread and sends what they hold. The thread ends when the receiver is dropped, or with the
/// process where it waits for standard input.
pub(crate) fn spawn_reader(
    files: Vec<PathBuf>,
    limits: InputLimits,
) -> Result<mpsc::Receiver<Record>, Problem> {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    let read = move || {
        let mut output = Output { sender, limits, bytes_before: 0, file: None, sent: 0 };
        for path in files {
            let many = output.bytes_before > 0 || output.file.is_some();
            output.file = (!is_stdin(&path) || many).then(|| display_name(&path));
            if read_file(&path, &mut output).is_none() {
                return;
            }
        }
    };
    let thread = std::thread::Builder::new().name("groundline-input".to_owned()).spawn(read);
    thread
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the reading thread: {error}")))?;
    Ok(receiver)
}

/// Where records go; every method answers `None` once nobody wants more.
struct Output {
    sender: mpsc::Sender<Record>,
    limits: InputLimits,
    bytes_before: u64,
    file: Option<String>,
    /// Records of this file so far.
    sent: usize,
}

/// A request as it was read, and the id that it gives itself.
struct Request {
    id: Option<String>,
    request: Result<CheckRequest, Problem>,
}

impl Request {
    fn of(value: serde_json::Value) -> Self {
        let id = CheckRequest::id_in(&value);
        Self { id, request: CheckRequest::from_value(value) }
    }

    fn text(text: &str) -> Self {
        CheckRequest::value_from_json(text).map_or_else(Self::from, Self::of)
    }
}

impl From<Problem> for Request {
    fn from(problem: Problem) -> Self {
        Self { id: None, request: Err(problem) }
    }
}

impl Output {
    fn send(&mut self, place: Place, read: impl Into<Request>, bytes: u64) -> Option<()> {
        let Request { id, request } = read.into();
        let (line, item) = match place {
            Place::File => (None, None),
            Place::Line(line) => (Some(line), None),
            Place::Item(item) => (None, Some(item)),
        };
        let position = Position { file: self.file.clone(), line, item };
        let request = request.and_then(|request| request.validate(&self.limits.request).map(|()| request));
        self.sent += 1;
        let bytes_read = self.bytes_before + bytes;
        self.sender.blocking_send(Record { position, id, request, bytes_read }).ok()
    }
}

#[derive(Clone, Copy)]
enum Place {
    File,
    Line(usize),
    Item(usize),
}

fn read_file(path: &Path, output: &mut Output) -> Option<()> {
    let reader = match open(path) {
        Ok(reader) => reader,
        Err(problem) => return output.send(Place::File, problem, 0),
    };
    output.sent = 0;
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    let by_name = extension.is_some_and(|extension| extension == "jsonl" || extension == "ndjson");
    let bytes = match detect(reader, by_name, output.limits.line_bytes) {
        Ok(Form::Lines(reader)) => read_lines(reader, path, output)?,
        Ok(Form::Document(text)) => read_document(&text, output)?,
        Ok(Form::TooLarge) => {
            let limit = output.limits.line_bytes;
            let message = format!(
                "the JSON document has more than {limit} bytes, the limit; JSONL may be of any length"
            );
            output.send(Place::File, Problem::new(Code::TOO_LARGE, message), 0)?;
            0
        }
        Err(error) => {
            output.send(Place::File, unreadable(path, &error), 0)?;
            0
        }
    };
    if output.sent == 0 {
        let message = format!("no request in {}: expected JSON or JSONL", display_name(path));
        output.send(Place::File, Problem::new(Code::MALFORMED_JSON, message), bytes)?;
    }
    output.bytes_before += bytes;
    Some(())
}

/// What a file turned out to be.
enum Form {
    Lines(Box<dyn BufRead>),
    Document(String),
    TooLarge,
}

/// Looks at the first line that is not empty.
fn detect(reader: Box<dyn Read + Send>, by_name: bool, limit_bytes: usize) -> std::io::Result<Form> {
    let mut reader = BufReader::new(reader);
    if by_name {
        return Ok(Form::Lines(Box::new(reader)));
    }
    let mut head = Vec::new();
    let bound = (limit_bytes as u64).saturating_add(1);
    loop {
        let before = head.len();
        let read = reader.by_ref().take(bound - before as u64).read_until(b'\n', &mut head)?;
        let first = head[before..].trim_ascii();
        let first = first.strip_prefix("\u{feff}".as_bytes()).unwrap_or(first);
        if read == 0 || head.len() > limit_bytes {
            break;
        }
        if first.is_empty() {
            continue;
        }
        match serde_json::from_slice::<serde::de::IgnoredAny>(first) {
            Err(error) if error.is_eof() => break,
            // A list on one line is a document: no request is a list.
            Ok(_) if first[0] == b'[' => break,
            Ok(_) | Err(_) => return Ok(Form::Lines(Box::new(Cursor::new(head).chain(reader)))),
        }
    }
    // The first line holds the start of something: one document, or lines of which the first is broken.
    reader.by_ref().take(bound.saturating_sub(head.len() as u64)).read_to_end(&mut head)?;
    let text = std::str::from_utf8(&head).ok().map(unmarked);
    if head.len() <= limit_bytes
        && let Some(text) = text
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
    {
        return Ok(Form::Document(text.to_owned()));
    }
    if looks_like_lines(&head, limit_bytes) {
        return Ok(Form::Lines(Box::new(Cursor::new(head).chain(reader))));
    }
    if head.len() > limit_bytes {
        return Ok(Form::TooLarge);
    }
    Ok(match text {
        Some(text) => Form::Document(text.to_owned()),
        None => Form::Lines(Box::new(Cursor::new(head))),
    })
}

/// Whether several lines begin as an object does: JSONL with something broken in it. A first line over the limit is taken
/// for one, too, so that the lines after it are read.
fn looks_like_lines(head: &[u8], limit_bytes: usize) -> bool {
    if head.len() > limit_bytes && !head.contains(&b'\n') {
        return true;
    }
    let objects = head.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"{\""));
    objects.take(2).count() == 2
}

fn read_lines(reader: Box<dyn BufRead>, path: &Path, output: &mut Output) -> Option<u64> {
    let mut lines = Lines::new(reader, output.limits.line_bytes);
    loop {
        let line = match lines.next() {
            Ok(Some(line)) => line,
            Ok(None) => return Some(lines.bytes),
            Err(error) => {
                output.send(Place::Line(lines.number + 1), unreadable(path, &error), lines.bytes)?;
                return Some(lines.bytes);
            }
        };
        let request = match line {
            Line::Bytes(bytes) if is_blank(&bytes) => continue,
            Line::Bytes(bytes) => {
                utf8(bytes).map_or_else(Request::from, |text| Request::text(unmarked(&text)))
            }
            Line::TooLong(length) => {
                let limit = output.limits.line_bytes;
                let message = format!("the line has {length} bytes, the limit is {limit}; it was skipped");
                Request::from(Problem::new(Code::TOO_LARGE, message))
            }
        };
        output.send(Place::Line(lines.number), request, lines.bytes)?;
    }
}

/// Whether a line holds nothing, or a byte order mark and nothing.
fn is_blank(line: &[u8]) -> bool {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii().is_empty()
}

/// JSON text without the byte order mark before it.
fn unmarked(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn read_document(text: &str, output: &mut Output) -> Option<u64> {
    let bytes = text.len() as u64;
    if text.trim().is_empty() {
        return Some(bytes);
    }
    if let Err(problem) = utf8(text.as_bytes().to_vec()) {
        output.send(Place::File, problem, bytes)?;
        return Some(bytes);
    }
    match CheckRequest::value_from_json(text) {
        Ok(serde_json::Value::Array(items)) => {
            let count = items.len().max(1) as u64;
            for (index, item) in items.into_iter().enumerate() {
                let read = bytes * (index as u64 + 1) / count;
                output.send(Place::Item(index + 1), Request::of(item), read)?;
            }
        }
        Ok(value) => output.send(Place::File, Request::of(value), bytes)?,
        Err(problem) => output.send(Place::File, problem, bytes)?,
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
