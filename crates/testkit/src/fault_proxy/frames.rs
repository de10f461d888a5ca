//! The client protocol of NATS, as far as a proxy must know it: where a message begins and ends, and what its subject is.

/// A message on its way, either way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NatsMessage {
    /// What it is published to.
    pub subject: String,
    /// Number of the subscription that it is for, on its way to a client.
    subscription: Option<String>,
    /// Where an answer goes.
    pub reply: Option<String>,
    /// The block of headers with its first line, where it has one.
    pub headers: Option<Vec<u8>>,
    /// Its body.
    pub payload: Vec<u8>,
}

/// What travels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    /// Anything that is no message, such as `PING`, with its end of line.
    Line(Vec<u8>),
    Message(NatsMessage),
}

impl Frame {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        match self {
            Frame::Line(line) => line,
            Frame::Message(message) => message.into_bytes(),
        }
    }
}

impl NatsMessage {
    /// Whether a header's line is in its headers, such as `Gl-Schema: 1.0`.
    pub fn has_header(&self, line: &str) -> bool {
        let headers = self.headers.as_deref().unwrap_or_default();
        String::from_utf8_lossy(headers).lines().any(|found| found == line)
    }

    /// Puts one line of its headers in the place of another.
    pub fn replace_header(&mut self, line: &str, other: &str) {
        if let Some(headers) = &mut self.headers {
            let text =
                String::from_utf8_lossy(headers).replace(&format!("{line}\r\n"), &format!("{other}\r\n"));
            *headers = text.into_bytes();
        }
    }

    fn into_bytes(self) -> Vec<u8> {
        let verb = match (&self.subscription, &self.headers) {
            (None, None) => "PUB",
            (None, Some(_)) => "HPUB",
            (Some(_), None) => "MSG",
            (Some(_), Some(_)) => "HMSG",
        };
        let mut line = format!("{verb} {}", self.subject);
        for word in [&self.subscription, &self.reply].into_iter().flatten() {
            line.push(' ');
            line.push_str(word);
        }
        let headers = self.headers.unwrap_or_default();
        if verb.starts_with('H') {
            line.push(' ');
            line.push_str(&headers.len().to_string());
        }
        line.push(' ');
        line.push_str(&(headers.len() + self.payload.len()).to_string());
        line.push_str("\r\n");
        let mut bytes = line.into_bytes();
        bytes.extend(headers);
        bytes.extend(self.payload);
        bytes.extend(b"\r\n");
        bytes
    }
}

/// Takes bytes as they come and gives frames. What is no NATS comes out as lines.
#[derive(Debug, Default)]
pub(super) struct Parser {
    bytes: Vec<u8>,
    /// What before this place has come out already.
    begin: usize,
}

impl Parser {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.bytes.extend(bytes);
    }

    /// The next whole frame.
    pub(super) fn next(&mut self) -> Option<Frame> {
        let rest = &self.bytes[self.begin..];
        let end_of_line = rest.windows(2).position(|two| two == b"\r\n")? + 2;
        let line = String::from_utf8_lossy(&rest[..end_of_line - 2]).into_owned();
        let Some(mut head) = Head::parse(&line) else {
            self.begin += end_of_line;
            return Some(Frame::Line(line_of(line)));
        };
        let end = end_of_line + head.total_bytes + 2;
        if rest.len() < end {
            return None;
        }
        let (headers, payload) =
            rest[end_of_line..end - 2].split_at(head.header_bytes.unwrap_or(0).min(head.total_bytes));
        head.message.headers = head.header_bytes.map(|_| headers.to_vec());
        head.message.payload = payload.to_vec();
        self.begin += end;
        Some(Frame::Message(head.message))
    }
}

fn line_of(line: String) -> Vec<u8> {
    let mut bytes = line.into_bytes();
    bytes.extend(b"\r\n");
    bytes
}

/// The line before a message's bytes.
struct Head {
    message: NatsMessage,
    header_bytes: Option<usize>,
    total_bytes: usize,
}

impl Head {
    fn parse(line: &str) -> Option<Self> {
        let words = line.split_ascii_whitespace().collect::<Vec<_>>();
        let verb = words.first()?.to_ascii_uppercase();
        let has_headers = verb.starts_with('H');
        let has_subscription = match verb.trim_start_matches('H') {
            "PUB" => false,
            "MSG" => true,
            _ => return None,
        };
        let numbers = if has_headers { 2 } else { 1 };
        let (names, sizes) = words[1..].split_at_checked(words.len().checked_sub(1 + numbers)?)?;
        let mut names = names.iter().map(|name| (*name).to_owned());
        let subject = names.next()?;
        let subscription = if has_subscription { Some(names.next()?) } else { None };
        let sizes = sizes.iter().map(|size| size.parse().ok()).collect::<Option<Vec<usize>>>()?;
        let message =
            NatsMessage { subject, subscription, reply: names.next(), headers: None, payload: Vec::new() };
        let header_bytes = has_headers.then_some(sizes[0]);
        Some(Self { message, header_bytes, total_bytes: *sizes.last()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"CONNECT {\"a\":1}\r\nPUB a.b 5\r\nab\r\nc\r\nHPUB c _INBOX.1 12 15\r\nNATS/1.0\r\n\r\nxyz\r\nPING\r\n\
        MSG a.b 7 2\r\nok\r\nHMSG c 9 r.1 12 12\r\nNATS/1.0\r\n\r\n\r\nHPUB d 12 12\r\nNATS/1.0\r\n\r\n\r\n";

    fn frames(chunk: usize) -> Vec<Frame> {
        let mut parser = Parser::default();
        let mut frames = Vec::new();
        for bytes in STREAM.chunks(chunk) {
            parser.push(bytes);
            frames.extend(std::iter::from_fn(|| parser.next()));
        }
        frames
    }

    #[test]
    fn frames_are_the_same_however_bytes_come_and_are_written_as_they_were_read() {
        let whole = frames(STREAM.len());
        assert_eq!(whole.len(), 7);
        for chunk in 1..40 {
            assert_eq!(frames(chunk), whole, "chunks of {chunk}");
        }
        let written = whole.into_iter().flat_map(Frame::into_bytes).collect::<Vec<_>>();
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(STREAM));
    }

    #[test]
    fn a_message_knows_its_subject_its_answer_s_subject_and_its_parts() {
        let frames = frames(STREAM.len());
        let Frame::Message(message) = &frames[2] else { panic!("{frames:?}") };
        assert_eq!((message.subject.as_str(), message.reply.as_deref()), ("c", Some("_INBOX.1")));
        assert_eq!(
            (message.headers.as_deref(), message.payload.as_slice()),
            (Some(&b"NATS/1.0\r\n\r\n"[..]), &b"xyz"[..])
        );
        let Frame::Message(message) = &frames[1] else { panic!("{frames:?}") };
        assert_eq!((message.payload.as_slice(), &message.headers), (&b"ab\r\nc"[..], &None));
    }

    #[test]
    fn a_changed_header_changes_the_sizes_that_are_written() {
        let mut message = NatsMessage {
            subject: "a".to_owned(),
            subscription: None,
            reply: None,
            headers: Some(b"NATS/1.0\r\nGl-Schema: 1.0\r\n\r\n".to_vec()),
            payload: b"x".to_vec(),
        };
        assert!(message.has_header("Gl-Schema: 1.0"));
        message.replace_header("Gl-Schema: 1.0", "Gl-Schema: 1.17");
        let bytes = message.into_bytes();
        assert_eq!(
            String::from_utf8_lossy(&bytes),
            "HPUB a 29 30\r\nNATS/1.0\r\nGl-Schema: 1.17\r\n\r\nx\r\n"
        );
    }
}
