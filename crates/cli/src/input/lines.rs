//! Lines of bounded length.

use std::io::{self, BufRead};

/// One line without its line end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// A line over the limit; it was skipped without being held, and had this many bytes.
    TooLong(u64),
}

/// Reads lines of at most `limit_bytes`, and holds no more than that.
pub(super) struct Lines<R> {
    reader: R,
    limit_bytes: usize,
    /// Lines read.
    pub(super) number: usize,
    /// Bytes read.
    pub(super) bytes: u64,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(reader: R, limit_bytes: usize) -> Self {
        Self { reader, limit_bytes, number: 0, bytes: 0 }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut length = 0_u64;
        loop {
            let chunk = match self.reader.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                if length == 0 {
                    return Ok(None);
                }
                break;
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            length += part.len() as u64;
            // One byte more than the limit is kept, so that a carriage return does not count.
            if line.len() <= self.limit_bytes {
                let room = self.limit_bytes + 1 - line.len();
                line.extend_from_slice(&part[..part.len().min(room)]);
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.reader.consume(consumed);
            self.bytes += consumed as u64;
            if end.is_some() {
                break;
            }
        }
        self.number += 1;
        if length <= line.len() as u64 && line.last() == Some(&b'\r') {
            line.pop();
            length -= 1;
        }
        if length > self.limit_bytes as u64 {
            return Ok(Some(Line::TooLong(length)));
        }
        Ok(Some(Line::Bytes(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn all(text: &str, limit: usize, buffer: usize) -> Vec<Line> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, text.as_bytes()), limit);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line);
        }
        assert_eq!(lines.bytes, text.len() as u64);
        assert_eq!(lines.number, found.len());
        found
    }

    fn bytes(text: &str) -> Line {
        Line::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_do_not_depend_on_the_buffer() {
        for buffer in [1, 2, 3, 64] {
            let lines = all("ab\r\n\ncde\nlast", 10, buffer);
            assert_eq!(lines, [bytes("ab"), bytes(""), bytes("cde"), bytes("last")]);
        }
    }

    #[test]
    fn a_line_over_the_limit_is_measured_and_skipped_and_the_next_is_read() {
        for buffer in [1, 3, 64] {
            let lines = all("1234567\n1234\n1234\r\n12345", 4, buffer);
            assert_eq!(lines, [Line::TooLong(7), bytes("1234"), bytes("1234"), Line::TooLong(5)]);
        }
    }
}
