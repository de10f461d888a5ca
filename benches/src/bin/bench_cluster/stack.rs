//! A cluster of real processes on this machine: broker, gateways, workers.

use crate::engine::Pace;
use crate::http::Client;
use crate::load::{Ask, Ended};
use crate::system::{CpuMeter, usage};
use crate::texts;
use anyhow::{Context as _, bail};
use groundline_testkit::{NatsServer, NatsVersion};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;

/// Programs and files that a measurement needs.
#[derive(Debug, Clone)]
pub(crate) struct Tools {
    /// The `groundline` command.
    pub(crate) groundline: PathBuf,
    /// A model folder; engines stand in for it.
    pub(crate) model: PathBuf,
}

/// What a cluster is made of.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) workers: usize,
    pub(crate) pace: Pace,
    /// Further lines of the configuration that all its processes read.
    pub(crate) settings: String,
}

/// The cluster. Dropping it ends its processes.
#[derive(Debug)]
pub(crate) struct Stack {
    tools: Tools,
    plan: Plan,
    // Processes end before the broker, so that none logs that it is gone.
    gateways: Vec<Gateway>,
    workers: Vec<Worker>,
    broker: NatsServer,
    monitoring: SocketAddr,
    folder: TempDir,
}

#[derive(Debug)]
struct Gateway {
    child: Child,
    address: SocketAddr,
}

/// A worker, which says how much it has scored when it is asked.
#[derive(Debug)]
struct Worker {
    child: Child,
    questions: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Stack {
    /// Starts broker and workers, and one gateway.
    pub(crate) fn start(tools: &Tools, plan: Plan) -> anyhow::Result<Self> {
        let mut stack = Self::without_gateway(tools, plan)?;
        stack.add_gateway()?;
        Ok(stack)
    }

    /// Starts broker and workers.
    pub(crate) fn without_gateway(tools: &Tools, plan: Plan) -> anyhow::Result<Self> {
        let monitoring = free_address()?;
        let broker = NatsServer::start_with(NatsVersion::of_tests(), &format!("http: \"{monitoring}\""));
        let folder = tempfile::tempdir()?;
        let mut stack = Self {
            tools: tools.clone(),
            plan: plan.clone(),
            gateways: Vec::new(),
            workers: Vec::new(),
            broker,
            monitoring,
            folder,
        };
        std::fs::write(stack.config_file(), stack.config_text())?;
        for _ in 0..plan.workers {
            let worker = stack.start_worker()?;
            stack.workers.push(worker);
        }
        Ok(stack)
    }

    /// The configuration of all processes.
    pub(crate) fn config_text(&self) -> String {
        format!(
            "model.name = {:?}\nnats.urls = [\"{}\"]\ntelemetry.log_filter = \"warn\"\n{}",
            self.tools.model,
            self.broker.url(),
            self.plan.settings
        )
    }

    fn config_file(&self) -> PathBuf {
        self.folder.path().join("groundline.toml")
    }

    /// A file beside the configuration.
    pub(crate) fn write_file(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.folder.path().join(name), text)?)
    }

    /// Starts one more gateway, with coordinator actors of its own.
    pub(crate) fn add_gateway(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.tools.groundline);
        command.arg("gateway").arg("--config").arg(self.config_file());
        command.args(["--listen", "127.0.0.1:0", "--admin-listen", ""]);
        clean(&mut command).current_dir(self.folder.path()).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the gateway cannot be started")?;
        let mut lines = BufReader::new(child.stderr.take().context("no pipe")?).lines();
        let mut seen = String::new();
        let address = loop {
            let Some(line) = lines.next().transpose()? else { bail!("the gateway ended: {seen}") };
            if let Some((_, address)) = line.split_once(" at http://") {
                break address.trim().parse()?;
            }
            seen += &line;
        };
        // A pipe that nobody reads fills up; and whatever a gateway warns of belongs before the reader.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| crate::note(&line)));
        self.gateways.push(Gateway { child, address });
        Ok(())
    }

    fn start_worker(&self) -> anyhow::Result<Worker> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("worker").arg("--config").arg(self.config_file());
        command.arg("--batch-tokens").arg(self.plan.pace.batch_tokens.to_string());
        if let Some(speed) = self.plan.pace.items_per_second {
            command.arg("--items-per-second").arg(speed.to_string());
        }
        clean(&mut command).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("a worker cannot be started")?;
        let questions = child.stdin.take().context("no pipe")?;
        let mut answers = BufReader::new(child.stdout.take().context("no pipe")?).lines();
        match answers.next() {
            Some(Ok(line)) if line == "ready" => Ok(Worker { child, questions, answers }),
            other => bail!("a worker did not start: {other:?}"),
        }
    }

    /// Pairs and texts that all workers have scored so far.
    pub(crate) fn scored(&mut self) -> anyhow::Result<u64> {
        let mut sum = 0;
        for worker in &mut self.workers {
            worker.questions.write_all(b"\n")?;
            let line = worker.answers.next().context("a worker has ended")??;
            sum += line.parse::<u64>().with_context(|| format!("a worker says {line:?}"))?;
        }
        Ok(sum)
    }

    /// A client of a gateway.
    pub(crate) fn client(&self, gateway: usize, key: Option<&str>) -> anyhow::Result<Client> {
        let gateway = self.gateways.get(gateway).context("there is no such gateway")?;
        Ok(Client::new(gateway.address, key))
    }

    /// Checks over HTTP.
    pub(crate) fn ask(&self, gateway: usize, key: Option<&str>) -> anyhow::Result<Ask> {
        Ok(ask_over(self.client(gateway, key)?))
    }

    /// Name and id of every process, this one as the load.
    pub(crate) fn processes(&self) -> Vec<(String, u32)> {
        let named = |name: &str, child: &Child| (name.to_owned(), child.id());
        let mut processes = vec![("load".to_owned(), std::process::id())];
        processes.extend(self.broker.pid().map(|pid| ("broker".to_owned(), pid)));
        processes.extend(self.gateways.iter().map(|gateway| named("gateway", &gateway.child)));
        processes.extend(self.workers.iter().map(|worker| named("worker", &worker.child)));
        processes
    }

    /// Measures processor time from now on.
    pub(crate) fn cpu_meter(&self) -> CpuMeter {
        CpuMeter::start(self.processes())
    }

    /// Memory of the gateways now.
    pub(crate) fn gateway_bytes(&self) -> u64 {
        let gateways = self.gateways.iter().filter_map(|gateway| usage(gateway.child.id()));
        gateways.map(|usage| usage.resident_bytes).sum()
    }

    /// Where the broker tells about itself.
    pub(crate) fn monitoring(&self) -> SocketAddr {
        self.monitoring
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        let gateways = self.gateways.iter_mut().map(|gateway| &mut gateway.child);
        for child in gateways.chain(self.workers.iter_mut().map(|worker| &mut worker.child)) {
            // One that has ended already cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Posts checks and reads how they end.
pub(crate) fn ask_over(client: Client) -> Ask {
    Arc::new(move |number| {
        let client = client.clone();
        Box::pin(async move {
            match client.post("/v1/check", &texts::body(number)).await {
                Ok(answer) => match answer.status {
                    200 if is_whole(&answer.body) => Ended::Whole,
                    200 => Ended::Failed("answered in part".to_owned()),
                    status @ (429 | 503) => Ended::Refused(status),
                    status => Ended::Failed(format!("status {status}")),
                },
                Err(error) => Ended::Failed(error.kind().to_string()),
            }
        })
    })
}

/// Whether every sentence was scored. The status stands near the beginning of a result.
fn is_whole(body: &[u8]) -> bool {
    let wanted = b"\"status\":\"scored\"";
    body[..body.len().min(512)].windows(wanted.len()).any(|window| window == wanted)
}

/// Without the user's settings.
fn clean(command: &mut Command) -> &mut Command {
    let ours = |name: &str| name.starts_with("GROUNDLINE_") && name != "GROUNDLINE_ISA";
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command.env_remove("RUST_LOG")
}

/// A port that was free a moment ago.
fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}
