use super::*;
use crate::NatsServer;
use std::io::{BufRead as _, BufReader, Write as _};

const SOON: Duration = Duration::from_secs(10);
const NOT_YET: Duration = Duration::from_millis(300);

/// A client that speaks the protocol by hand.
struct Client {
    reader: BufReader<TcpStream>,
}

impl Client {
    fn connect(proxy: &FaultProxy) -> Self {
        let mut stream = TcpStream::connect(proxy.address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(b"CONNECT {\"verbose\":false}\r\nSUB news 1\r\nPING\r\n").unwrap();
        let mut client = Self { reader: BufReader::new(stream) };
        assert!(client.line().unwrap().starts_with("INFO"));
        assert_eq!(client.line().as_deref(), Some("PONG"));
        client
    }

    fn send(&mut self, text: &str) {
        self.reader.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// `None`: nothing comes, or the connection has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.reader.read_line(&mut line);
        read.is_ok_and(|count| count > 0).then(|| line.trim_end().to_owned())
    }

    fn hears_nothing(&mut self) -> bool {
        self.reader.get_ref().set_read_timeout(Some(NOT_YET)).unwrap();
        let heard = self.line();
        self.reader.get_ref().set_read_timeout(Some(SOON)).unwrap();
        heard.is_none()
    }
}

#[test]
fn what_a_black_hole_holds_comes_through_when_it_heals() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let mut client = Client::connect(&proxy);
    proxy.black_hole();
    client.send("PUB news 2\r\nhi\r\n");
    assert!(client.hears_nothing());
    proxy.heal();
    assert_eq!((client.line().as_deref(), client.line().as_deref()), (Some("MSG news 1 2"), Some("hi")));
    proxy.hold(Way::ToClient);
    client.send("PING\r\n");
    assert!(client.hears_nothing());
    proxy.heal();
    assert_eq!(client.line().as_deref(), Some("PONG"));
}

#[test]
fn a_rule_drops_and_changes_messages_by_their_subject() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let mut client = Client::connect(&proxy);
    proxy.set_rule(|way, message| {
        message.payload.extend(b"!");
        way == Way::ToServer || !message.payload.starts_with(b"secret")
    });
    client.send("PUB news 6\r\nsecret\r\nPUB news 2\r\nhi\r\n");
    assert_eq!((client.line().as_deref(), client.line().as_deref()), (Some("MSG news 1 4"), Some("hi!!")));
    assert_eq!(proxy.dropped(), 1);
    proxy.clear_rule();
    client.send("PUB news 6\r\nsecret\r\n");
    assert_eq!((client.line().as_deref(), client.line().as_deref()), (Some("MSG news 1 6"), Some("secret")));
}

#[test]
fn connections_are_cut_refused_and_delayed() {
    let server = NatsServer::start();
    let proxy = FaultProxy::start(server.port());
    let mut client = Client::connect(&proxy);
    proxy.cut();
    assert_eq!(client.line(), None);
    let mut client = Client::connect(&proxy);
    proxy.delay(Duration::from_millis(60), Duration::from_millis(10));
    let asked = std::time::Instant::now();
    client.send("PING\r\n");
    assert_eq!(client.line().as_deref(), Some("PONG"));
    assert!(asked.elapsed() >= Duration::from_millis(120), "{:?}", asked.elapsed());
    proxy.refuse();
    assert_eq!(client.line(), None);
    let mut refused = BufReader::new(TcpStream::connect(proxy.address).unwrap());
    assert_eq!(refused.read_line(&mut String::new()).unwrap_or(0), 0);
    proxy.heal();
    Client::connect(&proxy);
}
