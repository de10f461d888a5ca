//! A TCP proxy in front of a NATS server that does to a connection what networks do.

mod frames;
mod link;

pub use frames::NatsMessage;

use link::Link;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::time::Duration;

/// Which way something goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// From who connected to the server.
    ToServer,
    /// From the server to who connected.
    ToClient,
}

/// Decides on a message: false drops it. It may also change it.
type Rule = Box<dyn FnMut(Way, &mut NatsMessage) -> bool + Send>;

/// A proxy on 127.0.0.1 in front of a NATS server on this machine. It passes everything on until it is told otherwise; what it is
/// told holds for connections that exist and for those to come. Dropping it closes them.
///
/// It works in user space, so that it needs no privileges: bytes that it holds wait in it and in the sockets' buffers, as they
/// wait for the resends of TCP where a cable is pulled.
#[derive(Debug)]
pub struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

/// How the way is now.
#[derive(Debug, Clone, Copy, Default)]
struct Weather {
    latency: Duration,
    jitter: Duration,
    holds_to_server: bool,
    holds_to_client: bool,
    refuses: bool,
}

struct Shared {
    target: SocketAddr,
    weather: Mutex<Weather>,
    changed: Condvar,
    rule: Mutex<Option<Rule>>,
    dropped: AtomicUsize,
    links: Mutex<Vec<Weak<Link>>>,
    is_over: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("target", &self.target).finish_non_exhaustive()
    }
}

impl FaultProxy {
    /// Starts one in front of a port of this machine.
    ///
    /// # Panics
    ///
    /// Where the system gives no port.
    pub fn start(target_port: u16) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST, target_port)
    }

    /// The same on another address of this machine, such as one of a network namespace.
    ///
    /// # Panics
    ///
    /// Where the address is not this machine's.
    pub fn start_at(host: Ipv4Addr, target_port: u16) -> Self {
        let listener = TcpListener::bind((host, 0)).expect("the system gives a port");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared {
            target: SocketAddr::from(([127, 0, 0, 1], target_port)),
            weather: Mutex::default(),
            changed: Condvar::new(),
            rule: Mutex::default(),
            dropped: AtomicUsize::new(0),
            links: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let for_listener = Arc::clone(&shared);
        std::thread::spawn(move || accept(&listener, &for_listener));
        Self { address, shared }
    }

    /// Where to connect, such as `nats://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Delays everything by `latency` and up to `jitter` more. Order is kept.
    pub fn delay(&self, latency: Duration, jitter: Duration) {
        self.change(|weather| (weather.latency, weather.jitter) = (latency, jitter));
    }

    /// Passes nothing on, either way, and closes nothing: a black hole. New connections are taken and hear nothing.
    pub fn black_hole(&self) {
        self.change(|weather| (weather.holds_to_server, weather.holds_to_client) = (true, true));
    }

    /// Passes nothing on in one direction: half open.
    pub fn hold(&self, way: Way) {
        self.change(|weather| match way {
            Way::ToServer => weather.holds_to_server = true,
            Way::ToClient => weather.holds_to_client = true,
        });
    }

    /// Closes every connection, and each new one at once.
    pub fn refuse(&self) {
        self.change(|weather| weather.refuses = true);
        self.cut();
    }

    /// Closes every connection; new ones are served.
    pub fn cut(&self) {
        let links = std::mem::take(&mut *self.shared.links.lock().unwrap_or_else(PoisonError::into_inner));
        links.iter().filter_map(Weak::upgrade).for_each(|link| link.cut());
        self.shared.wake();
    }

    /// Passes everything on again, at once; what was held comes through. A rule stays.
    pub fn heal(&self) {
        self.change(|weather| *weather = Weather::default());
    }

    /// Shows every message of a client or the server to `rule` from now on, in place of any rule before. It returns whether the
    /// message goes on, and may change it.
    pub fn set_rule(&self, rule: impl FnMut(Way, &mut NatsMessage) -> bool + Send + 'static) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(rule));
    }

    /// Lets every message pass again.
    pub fn clear_rule(&self) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How many messages rules have dropped so far.
    pub fn dropped(&self) -> usize {
        self.shared.dropped.load(Ordering::SeqCst)
    }

    fn change(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.shared.weather.lock().unwrap_or_else(PoisonError::into_inner));
        self.shared.changed.notify_all();
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.cut();
        // The listener waits for one that connects.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn weather(&self) -> Weather {
        *self.weather.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets whoever waits look again.
    fn wake(&self) {
        // Whoever has looked and not begun to wait holds the lock.
        drop(self.weather.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// Waits while this way is held, and its link is not cut.
    fn wait_for_passage(&self, way: Way, link: &Link) {
        let weather = self.weather.lock().unwrap_or_else(PoisonError::into_inner);
        let is_held = |weather: &mut Weather| match way {
            Way::ToServer => weather.holds_to_server && !link.is_cut(),
            Way::ToClient => weather.holds_to_client && !link.is_cut(),
        };
        drop(self.changed.wait_while(weather, is_held));
    }

    /// Whether a message goes on.
    fn allows(&self, way: Way, message: &mut NatsMessage) -> bool {
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let passes = rule.as_mut().is_none_or(|rule| rule(way, message));
        if !passes {
            self.dropped.fetch_add(1, Ordering::SeqCst);
        }
        passes
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_over.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        if shared.weather().refuses {
            continue;
        }
        // A server that is not there is what its client sees as well: a connection that ends.
        let Ok(server) = TcpStream::connect(shared.target) else { continue };
        let Ok(link) = Link::open(client, server, shared) else { continue };
        let mut links = shared.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        links.push(Arc::downgrade(&link));
    }
}

#[cfg(test)]
mod tests;
