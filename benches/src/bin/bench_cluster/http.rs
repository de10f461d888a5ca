//! A small HTTP/1.1 client: it shares the machine with what it measures, so it does no more than it must.

use std::io::{Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Connections that are kept while nobody uses them; a burst's further ones are closed.
const KEPT_CONNECTIONS: usize = 64;
/// Room for most answers at once.
const ANSWER_BYTES: usize = 32 << 10;

/// Connections to one gateway. Clones are the same ones.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    authorization: Arc<str>,
    idle: Arc<Mutex<Vec<TcpStream>>>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Client {
    /// Connections are opened as they are needed, and kept. `key`: an API key, where the gateway asks for one.
    pub(crate) fn new(address: SocketAddr, key: Option<&str>) -> Self {
        let authorization = key.map_or_else(String::new, |key| format!("authorization: Bearer {key}\r\n"));
        Self { address, authorization: authorization.into(), idle: Arc::default() }
    }

    /// Posts JSON and reads the whole answer.
    pub(crate) async fn post(&self, path: &str, body: &str) -> std::io::Result<Answer> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n{}content-length: {}\r\n\r\n{body}",
            self.authorization,
            body.len()
        );
        let kept = self.idle().pop();
        let was_kept = kept.is_some();
        let first = match kept {
            Some(stream) => self.exchange(stream, &request).await,
            None => self.exchange(self.connect().await?, &request).await,
        };
        match first {
            // A kept connection may have been closed by the other side since.
            Err(_) if was_kept => self.exchange(self.connect().await?, &request).await,
            other => other,
        }
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    async fn exchange(&self, mut stream: TcpStream, request: &str) -> std::io::Result<Answer> {
        stream.write_all(request.as_bytes()).await?;
        let mut text = Vec::with_capacity(ANSWER_BYTES);
        let head = loop {
            if let Some(end) = text.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if stream.read_buf(&mut text).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        };
        let (status, length) = read_head(&text[..head]).ok_or(ErrorKind::InvalidData)?;
        while text.len() < head + length {
            if stream.read_buf(&mut text).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        let mut idle = self.idle();
        if idle.len() < KEPT_CONNECTIONS {
            idle.push(stream);
        }
        drop(idle);
        text.drain(..head);
        Ok(Answer { status, body: text })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<TcpStream>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The status and the length of the body.
fn read_head(head: &[u8]) -> Option<(u16, usize)> {
    let head = std::str::from_utf8(head).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    Some((status, length?))
}

/// Reads a page of a server that closes the connection after it, such as the broker's monitoring.
pub(crate) async fn get_once(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: bench\r\n\r\n").as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.ok_or_else(|| Error::from(ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_and_length_are_read_whatever_the_case_of_names() {
        let head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 27\r\n\r\n";
        assert_eq!(read_head(head), Some((429, 27)));
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\ncontent-length:5\r\n\r\n"), Some((200, 5)));
        assert_eq!(read_head(b"HTTP/1.1 200 OK\r\n\r\n"), None);
    }
}
