//! One connection through the proxy: two readers that take frames, two writers that pass them on when it is time.

use super::frames::{Frame, Parser};
use super::{Shared, Way};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Result, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks on their way before the reader waits, so that a sender feels the hold as it would feel a full buffer.
const MAX_CHUNKS: usize = 256;

/// Both sockets of a connection.
#[derive(Debug)]
pub(super) struct Link {
    client: TcpStream,
    server: TcpStream,
    is_cut: AtomicBool,
}

/// Bytes, and when they are passed on; none at the end.
type Chunk = (Instant, Vec<u8>);

impl Link {
    /// Connects the two until one of them ends.
    pub(super) fn open(client: TcpStream, server: TcpStream, shared: &Arc<Shared>) -> Result<Arc<Self>> {
        for socket in [&client, &server] {
            socket.set_nodelay(true)?;
        }
        let link = Arc::new(Self { client, server, is_cut: AtomicBool::new(false) });
        for way in [Way::ToServer, Way::ToClient] {
            let (from, to) = match way {
                Way::ToServer => (link.client.try_clone()?, link.server.try_clone()?),
                Way::ToClient => (link.server.try_clone()?, link.client.try_clone()?),
            };
            let (sender, chunks) = sync_channel(MAX_CHUNKS);
            let for_reader = Arc::clone(shared);
            std::thread::spawn(move || read(way, from, &for_reader, &sender));
            let (for_writer, link) = (Arc::clone(shared), Arc::clone(&link));
            std::thread::spawn(move || write(way, to, &for_writer, &link, &chunks));
        }
        Ok(link)
    }

    /// Closes both sides.
    pub(super) fn cut(&self) {
        self.is_cut.store(true, Ordering::SeqCst);
        for socket in [&self.client, &self.server] {
            // One that has ended already is closed enough.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut.load(Ordering::SeqCst)
    }
}

fn read(way: Way, mut from: TcpStream, shared: &Shared, chunks: &SyncSender<Chunk>) {
    let (mut parser, mut buffer) = (Parser::default(), vec![0; CHUNK_BYTES]);
    let random = RandomState::new();
    let mut last_due = Instant::now();
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            break;
        }
        parser.push(&buffer[..count]);
        let mut bytes = Vec::new();
        while let Some(mut frame) = parser.next() {
            let passes = match &mut frame {
                Frame::Line(_) => true,
                Frame::Message(message) => shared.allows(way, message),
            };
            if passes {
                bytes.extend(frame.into_bytes());
            }
        }
        let weather = shared.weather();
        let share = random.hash_one(Instant::now()) % 1000;
        let jitter = weather.jitter.mul_f64(share as f64 / 1000.0);
        last_due = last_due.max(Instant::now() + weather.latency + jitter);
        if !bytes.is_empty() && chunks.send((last_due, bytes)).is_err() {
            return;
        }
    }
    // An end is news like any other, and is held like any other.
    let _ = chunks.send((last_due, Vec::new()));
}

fn write(way: Way, mut to: TcpStream, shared: &Shared, link: &Link, chunks: &Receiver<Chunk>) {
    while let Ok((due, bytes)) = chunks.recv() {
        let wait = due.saturating_duration_since(Instant::now());
        if wait > Duration::ZERO {
            std::thread::sleep(wait);
        }
        shared.wait_for_passage(way, link);
        if bytes.is_empty() || to.write_all(&bytes).is_err() {
            break;
        }
    }
    // A NATS connection that one side has closed is of no use to the other.
    link.cut();
    shared.wake();
}
