//! Several servers that are one broker.

use super::{NatsServer, NatsVersion};
use std::net::TcpListener;

/// Servers that keep each other's streams, so that one of them may go. Dropping it kills them all.
#[derive(Debug)]
pub struct NatsCluster {
    servers: Vec<NatsServer>,
}

impl NatsCluster {
    /// Starts so many servers of the version that [`NatsVersion::of_tests`] says. They greet whoever connects before they have
    /// agreed on a leader: until then they store nothing.
    ///
    /// # Panics
    ///
    /// Where a server does not start.
    pub fn start(size: usize) -> Self {
        let version = NatsVersion::of_tests();
        let ports = free_ports(size);
        let routes =
            ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect::<Vec<_>>().join(", ");
        let config = |(number, port): (usize, &u16)| {
            format!(
                "server_name: \"test-{number}\"\nlame_duck_duration: \"30s\"\nlame_duck_grace_period: \"1s\"\n\
                 cluster {{ name: \"test\", listen: \"127.0.0.1:{port}\", routes: [{routes}] }}"
            )
        };
        let configs = ports.iter().enumerate().map(config);
        Self { servers: configs.map(|config| NatsServer::start_with(version.clone(), &config)).collect() }
    }

    /// Where to connect to each.
    pub fn urls(&self) -> Vec<String> {
        self.servers.iter().map(NatsServer::url).collect()
    }

    /// One of them.
    ///
    /// # Panics
    ///
    /// Where there are fewer.
    pub fn server(&mut self, number: usize) -> &mut NatsServer {
        &mut self.servers[number]
    }
}

/// Ports that nobody listens on. Held all at once, so that they differ; free again when this returns.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("there is a free port"));
    let listeners = listeners.collect::<Vec<_>>();
    listeners.iter().map(|listener| listener.local_addr().expect("it listens").port()).collect()
}
