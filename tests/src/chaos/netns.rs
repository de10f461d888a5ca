//! Network namespaces of one run: a hub with a bridge, where the broker and the driver live, and one for each process.

use anyhow::{Context as _, bail};
use std::path::Path;
use std::process::{Command, Stdio};

/// What the names of our namespaces begin with; the process that made them follows.
const PREFIX: &str = "glchaos";
/// Where the driver calls from.
const DRIVER_ADDRESS: &str = "10.99.0.254/24";
/// Where processes find the broker: another address than the driver's, so that one can be cut off and the other not.
pub(super) const BROKER_ADDRESS: [u8; 4] = [10, 99, 0, 1];
/// Namespaces of processes get addresses from this one on.
const FIRST_ADDRESS: usize = 11;

/// The namespaces that the process `owner` has made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Namespaces {
    owner: u32,
}

impl Namespaces {
    pub(super) fn of(owner: u32) -> Self {
        Self { owner }
    }

    fn name(self, of: &str) -> String {
        format!("{PREFIX}{}-{of}", self.owner)
    }

    /// Makes the hub. Needs root.
    pub(super) fn make_hub(self) -> anyhow::Result<()> {
        let hub = self.name("hub");
        ip(&["netns", "add", &hub])?;
        ip(&["-n", &hub, "link", "set", "lo", "up"])?;
        ip(&["-n", &hub, "link", "add", "br0", "type", "bridge"])?;
        // The first address of a subnet is the one that connections are made from.
        ip(&["-n", &hub, "addr", "add", DRIVER_ADDRESS, "dev", "br0"])?;
        let [a, b, c, d] = BROKER_ADDRESS;
        ip(&["-n", &hub, "addr", "add", &format!("{a}.{b}.{c}.{d}/24"), "dev", "br0"])?;
        ip(&["-n", &hub, "link", "set", "br0", "up"])
    }

    /// A namespace for a process, joined to the hub. Returns its address.
    pub(super) fn make(self, of: &str, number: usize) -> anyhow::Result<String> {
        let (hub, name, port) = (self.name("hub"), self.name(of), format!("v{number}"));
        let address = format!("10.99.0.{}", FIRST_ADDRESS + number);
        ip(&["netns", "add", &name])?;
        ip(&["-n", &name, "link", "set", "lo", "up"])?;
        ip(&["-n", &hub, "link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &name])?;
        ip(&["-n", &hub, "link", "set", &port, "master", "br0", "up"])?;
        ip(&["-n", &name, "addr", "add", &format!("{address}/24"), "dev", "eth0"])?;
        ip(&["-n", &name, "link", "set", "eth0", "up"])?;
        Ok(address)
    }

    /// The command that runs a program in a namespace; the program takes the place of this command's own process.
    pub(super) fn command(self, of: &str, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name(of)]).arg(program);
        command
    }

    /// Takes the cable out of a namespace, or puts it back.
    pub(super) fn set_link(self, of: &str, state: &str) -> anyhow::Result<()> {
        ip(&["-n", &self.name(of), "link", "set", "eth0", state])
    }

    /// Drops everything from a namespace to the broker, or lets it pass again.
    pub(super) fn set_black_hole(self, of: &str, is_there: bool) -> anyhow::Result<()> {
        let [a, b, c, d] = BROKER_ADDRESS;
        let verb = if is_there { "add" } else { "del" };
        ip(&["-n", &self.name(of), "route", verb, "blackhole", &format!("{a}.{b}.{c}.{d}/32")])
    }

    /// Removes all of them.
    pub(super) fn remove(self) {
        let prefix = format!("{PREFIX}{}-", self.owner);
        for name in list().into_iter().filter(|name| name.starts_with(&prefix)) {
            // What cannot be removed now is swept by the next run.
            let _ = ip(&["netns", "del", &name]);
        }
    }
}

/// Removes namespaces of processes that have ended without doing so.
pub(super) fn sweep() {
    for name in list() {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if let Some(owner) = owner.and_then(|owner| owner.parse::<u32>().ok())
            && matches!(Path::new(&format!("/proc/{owner}")).try_exists(), Ok(false))
        {
            Namespaces::of(owner).remove();
        }
    }
}

fn list() -> Vec<String> {
    let output = Command::new("ip").args(["netns", "list"]).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn ip(arguments: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output();
    let output = output.context("`ip` cannot be run; network namespaces need iproute2")?;
    if !output.status.success() {
        bail!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
