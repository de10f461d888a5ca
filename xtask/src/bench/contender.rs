//! A contender as a child process that answers commands, a line each way.

use anyhow::{Context as _, bail};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running contender. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Contender {
    name: &'static str,
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    ready: Value,
}

impl Contender {
    /// Starts a contender and waits until its model is loaded.
    pub(crate) fn start(name: &'static str, mut command: Command) -> anyhow::Result<Self> {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = piped.with_context(|| format!("cannot start {name}"))?;
        let commands = child.stdin.take().context("no standard input")?;
        let answers = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut contender = Self { name, child, commands, answers, ready: Value::Null };
        contender.ready = contender.answer()?;
        Ok(contender)
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// What it said when it was loaded.
    pub(crate) fn ready(&self) -> &Value {
        &self.ready
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn ask(&mut self, command: &str) -> anyhow::Result<Value> {
        writeln!(self.commands, "{command}").with_context(|| format!("{} has ended", self.name))?;
        self.answer()
    }

    fn answer(&mut self) -> anyhow::Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        if line.is_empty() {
            bail!("{} has ended: {}", self.name, self.child.wait()?);
        }
        serde_json::from_str(&line).with_context(|| format!("{} answered no JSON", self.name))
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing else to do about it here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
