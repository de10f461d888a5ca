//! The processes of a run: a broker, and gateways, a coordinator and workers that reach it through a proxy each.

use super::memory::Memory;
use super::netns::{BROKER_ADDRESS, Namespaces};
use super::schedule::{Fault, GATEWAYS, Incident, Node, WORKERS};
use crate::groundline_bin;
use crate::role::{Role, cluster_toml, http};
use anyhow::Context as _;
use groundline_testkit::{FaultProxy, NatsMessage, NatsServer, NatsVersion, Way};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a batch takes at least, on workers that can be brought down.
const BATCH_DELAY_MS: &str = "40";
/// How long a process may take to stop in good order.
const STOP_PATIENCE: Duration = Duration::from_secs(40);
/// Latency of a delayed connection, and up to how much more.
const LATENCY: (Duration, Duration) = (Duration::from_millis(60), Duration::from_millis(120));

/// What a run is made of.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// Logs, settings, the model.
    pub(super) folder: PathBuf,
    pub(super) model: PathBuf,
    /// Whether each process lives in a namespace of its own.
    pub(super) namespaces: Option<Namespaces>,
    /// Whether workers are brought down by what they score. Without, they are workers as they are shipped.
    pub(super) has_poison: bool,
}

/// What a process is meant to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meant {
    Up,
    /// Told to stop.
    Stopping,
    Down,
}

#[derive(Debug)]
struct Process {
    proxy: FaultProxy,
    role: Option<Role>,
    meant: Meant,
    /// Where it is called at, for a gateway.
    address: String,
}

/// Something the cluster did of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Surprise {
    /// A worker ended while poison was about.
    Poisoned(Node),
    /// It should not have.
    Broken(String),
}

/// The processes. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Cluster {
    setup: Setup,
    broker: NatsServer,
    monitor: String,
    processes: BTreeMap<Node, Process>,
    memory: Memory,
}

impl Cluster {
    /// Starts everything, and waits until every gateway is ready.
    pub(super) fn start(setup: Setup) -> anyhow::Result<Self> {
        let monitor = format!("127.0.0.1:{}", free_port()?);
        let broker = NatsServer::start_with(NatsVersion::of_tests(), &format!("http: {monitor:?}"));
        let sections = "[gateway]\nallow_anonymous = true\nhealth_on_main = true\n[coordinator]\nmax_checks = 1000\nresend_after_ms = 3000\n";
        std::fs::write(setup.folder.join("groundline.toml"), cluster_toml(&setup.model, sections))?;
        let (processes, memory) = (BTreeMap::new(), Memory::default());
        let mut cluster = Self { setup, broker, monitor, processes, memory };
        let workers = (0..WORKERS).map(Node::Worker);
        let nodes = workers.chain((0..GATEWAYS).map(Node::Gateway)).chain([Node::Coordinator]);
        for (number, node) in nodes.enumerate() {
            cluster.add(node, number).with_context(|| format!("{node} cannot be set up"))?;
            cluster.spawn(node)?;
        }
        Ok(cluster)
    }

    fn add(&mut self, node: Node, number: usize) -> anyhow::Result<()> {
        let (host, proxy_host) = match self.setup.namespaces {
            Some(namespaces) => (namespaces.make(&node.to_string(), number)?, Ipv4Addr::from(BROKER_ADDRESS)),
            None => ("127.0.0.1".to_owned(), Ipv4Addr::LOCALHOST),
        };
        let port = if self.setup.namespaces.is_some() { 8080 } else { free_port()? };
        let process = Process {
            proxy: FaultProxy::start_at(proxy_host, self.broker.port()),
            role: None,
            meant: Meant::Down,
            address: format!("{host}:{port}"),
        };
        self.processes.insert(node, process);
        Ok(())
    }

    /// Where gateways are called at.
    pub(super) fn gateways(&self) -> Vec<String> {
        let gateways = self.processes.iter().filter(|(node, _)| matches!(node, Node::Gateway(_)));
        gateways.map(|(_, process)| process.address.clone()).collect()
    }

    /// Whether every gateway says that it takes checks.
    pub(super) fn is_ready(&self) -> bool {
        let ready = |address: &String| {
            let answer = http(address, "GET /readyz", "", "", Duration::from_secs(2));
            answer.is_ok_and(|(status, _)| status == 200)
        };
        self.gateways().iter().all(ready)
    }

    fn spawn(&mut self, node: Node) -> anyhow::Result<()> {
        let Some(process) = self.processes.get(&node) else { return Ok(()) };
        let (nats, config) = (process.proxy.url(), self.setup.folder.join("groundline.toml"));
        let config = config.to_string_lossy().into_owned();
        let model = self.setup.model.to_string_lossy().into_owned();
        let toy = groundline_bin().with_file_name("toy-worker");
        let role = |name| vec![name, "--config", &config, "--nats", &nats, "--admin-listen", ""];
        let (program, arguments) = match node {
            Node::Worker(_) if self.setup.has_poison => {
                (toy.as_path(), vec![nats.as_str(), BATCH_DELAY_MS, &model])
            }
            Node::Worker(_) => (groundline_bin(), role("worker")),
            Node::Coordinator => (groundline_bin(), role("coordinator")),
            _ => (groundline_bin(), [role("gateway"), vec!["--listen", &process.address]].concat()),
        };
        let mut command = self.command(node, program);
        command.args(arguments).env("NO_COLOR", "1").env_remove("RUST_LOG");
        let role =
            Role::spawn(command, &self.log_file(node)).with_context(|| format!("cannot start {node}"))?;
        if let Some(process) = self.processes.get_mut(&node) {
            (process.role, process.meant) = (Some(role), Meant::Up);
        }
        Ok(())
    }

    fn command(&self, node: Node, program: &Path) -> Command {
        match self.setup.namespaces {
            Some(namespaces) => namespaces.command(&node.to_string(), program),
            None => Command::new(program),
        }
    }

    fn log_file(&self, node: Node) -> PathBuf {
        self.setup.folder.join(format!("{node}.log"))
    }

    /// Lets an incident begin. Poison and floods are not for processes.
    pub(super) fn begin(&mut self, incident: &Incident) -> anyhow::Result<()> {
        if incident.node == Node::Broker {
            self.broker.kill();
            if incident.fault == Fault::Wipe {
                self.broker.wipe();
            }
            return Ok(());
        }
        let namespaces = self.setup.namespaces;
        let Some(process) = self.processes.get_mut(&incident.node) else { return Ok(()) };
        match incident.fault {
            Fault::Kill => {
                process.meant = Meant::Down;
                process.role = None;
            }
            Fault::Stop => {
                process.meant = Meant::Stopping;
                process.signal("TERM")?;
            }
            Fault::Freeze => process.signal("STOP")?,
            Fault::Cut => cut(namespaces, incident.node, &process.proxy, true)?,
            Fault::Delay => process.proxy.delay(LATENCY.0, LATENCY.1),
            Fault::LoseResults => process.proxy.set_rule(|way, message| {
                way == Way::ToServer || !message.subject.starts_with("gl.v1.results.")
            }),
            Fault::LoseAcks => {
                process.proxy.set_rule(|way, message| way == Way::ToServer || !is_publish_ack(message));
            }
            Fault::Wipe | Fault::Poison | Fault::Flood => {}
        }
        Ok(())
    }

    /// Lets an incident end; what went comes back.
    pub(super) fn end(&mut self, incident: &Incident) -> anyhow::Result<Vec<Surprise>> {
        if incident.node == Node::Broker {
            self.broker.restart();
            return Ok(Vec::new());
        }
        let namespaces = self.setup.namespaces;
        let Some(process) = self.processes.get_mut(&incident.node) else { return Ok(Vec::new()) };
        let mut surprises = Vec::new();
        match incident.fault {
            Fault::Kill => self.spawn(incident.node)?,
            Fault::Stop => {
                surprises.extend(process.stopped(incident.node));
                self.spawn(incident.node)?;
            }
            Fault::Freeze => process.signal("CONT")?,
            Fault::Cut => cut(namespaces, incident.node, &process.proxy, false)?,
            Fault::Delay => process.proxy.heal(),
            Fault::LoseResults | Fault::LoseAcks => process.proxy.clear_rule(),
            Fault::Wipe | Fault::Poison | Fault::Flood => {}
        }
        Ok(surprises)
    }

    /// Starts again what ended of itself, and notes how much memory everything takes.
    pub(super) fn tend(&mut self) -> anyhow::Result<Vec<Surprise>> {
        let mut surprises = Vec::new();
        for node in self.processes.keys().copied().collect::<Vec<_>>() {
            let Some(process) = self.processes.get_mut(&node) else { continue };
            let has_ended = process.role.as_mut().is_some_and(Role::has_ended);
            if process.meant != Meant::Up || !has_ended {
                continue;
            }
            surprises.push(match node {
                Node::Worker(_) if self.setup.has_poison => Surprise::Poisoned(node),
                _ => Surprise::Broken(format!("{node} ended by itself")),
            });
            self.spawn(node)?;
        }
        let pids =
            self.processes.iter().filter_map(|(node, process)| Some((*node, process.role.as_ref()?.pid())));
        let pids = pids.chain(self.broker.pid().map(|pid| (Node::Broker, pid))).collect::<Vec<_>>();
        for (node, pid) in pids {
            self.memory.look(node, pid);
        }
        Ok(surprises)
    }

    /// How much memory each process has and had.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Each process's log so far.
    pub(super) fn logs(&self) -> BTreeMap<Node, String> {
        let read = |node: Node| std::fs::read_to_string(self.log_file(node)).unwrap_or_default();
        self.processes.keys().map(|node| (*node, read(*node))).collect()
    }

    /// What the broker says of its streams.
    pub(super) fn streams(&self) -> anyhow::Result<Value> {
        let line = "GET /jsz?accounts=true&streams=true&consumers=true";
        Ok(http(&self.monitor, line, "", "", Duration::from_secs(5))?.1)
    }

    /// Where the broker is reached without a proxy.
    pub(super) fn broker_url(&self) -> String {
        self.broker.url()
    }

    /// The settings of every process.
    pub(super) fn config_file(&self) -> PathBuf {
        self.setup.folder.join("groundline.toml")
    }

    /// Keeps the broker's log with the others.
    pub(super) fn keep_broker_log(&self) {
        // Without it the other logs are worth keeping all the same.
        let _ = std::fs::write(self.setup.folder.join("broker.log"), self.broker.log());
    }

    /// Stops everything in good order, gateways first.
    pub(super) fn stop(mut self) -> anyhow::Result<Vec<Surprise>> {
        let mut surprises = Vec::new();
        for (node, process) in self.processes.iter_mut().rev() {
            process.meant = Meant::Stopping;
            process.signal("TERM")?;
            surprises.extend(process.stopped(*node));
        }
        self.keep_broker_log();
        Ok(surprises)
    }
}

impl Process {
    fn signal(&self, name: &str) -> anyhow::Result<()> {
        match &self.role {
            // One that has just ended cannot be told; that it ended is seen elsewhere.
            Some(role) => role.signal(name).or(Ok(())),
            None => Ok(()),
        }
    }

    /// Waits until it has stopped, and says what was wrong with that.
    fn stopped(&mut self, node: Node) -> Option<Surprise> {
        let mut role = self.role.take()?;
        let began = Instant::now();
        match role.ended(STOP_PATIENCE) {
            Ok(0) => None,
            Ok(status) => Some(Surprise::Broken(format!("{node} was told to stop and ended with {status}"))),
            Err(_) => Some(Surprise::Broken(format!("{node} did not stop within {:?}", began.elapsed()))),
        }
    }
}

/// Cuts a process off from the broker, or joins it again. In a namespace the cable goes, or everything to the broker is dropped
/// where callers need the cable; else its proxy holds everything.
fn cut(namespaces: Option<Namespaces>, node: Node, proxy: &FaultProxy, is_cut: bool) -> anyhow::Result<()> {
    match (namespaces, node) {
        (Some(namespaces), Node::Worker(_)) => {
            namespaces.set_link(&node.to_string(), if is_cut { "down" } else { "up" })
        }
        (Some(namespaces), _) => namespaces.set_black_hole(&node.to_string(), is_cut),
        (None, _) if is_cut => {
            proxy.black_hole();
            Ok(())
        }
        (None, _) => {
            proxy.heal();
            Ok(())
        }
    }
}

/// What the broker says to whoever has published a job.
fn is_publish_ack(message: &NatsMessage) -> bool {
    let text = String::from_utf8_lossy(&message.payload);
    text.contains("\"stream\":\"GL_JOBS_V1\"") && text.contains("\"seq\":") && !text.contains("config")
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
