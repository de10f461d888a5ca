//! `cargo xtask kernels-host`: the kernels' own source as C++ on the CPU, against double precision, under three schedules.
//!
//! What kernels/host/shim.h stands in for is said there. The checks must pass, and each of the planted faults must fail one.

use super::Trouble;
use super::faults::{FAULTS, Fault, plant};
use anyhow::{Context as _, bail};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How much to check.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Every combination of settings, and 500 pairs of groundline-mini; takes about half an hour
    #[arg(long)]
    full: bool,
    /// Write the table of launches instead of comparing it
    #[arg(long)]
    write: bool,
}

/// Checks, each a program of the same name with `_check` in kernels/host.
const CHECKS: [&str; 3] = ["attention", "forward", "rows"];
/// How a launch is laid out on each target.
const LAUNCHES: &str = "kernels/gen/launches.txt";
/// Into how many parts the attention check is divided, to keep all cores busy.
const ATTENTION_PARTS: usize = 6;
/// More threads than this gain nothing.
const MOST_THREADS: usize = 8;
/// Compilers, the first that answers is taken.
const COMPILERS: [&str; 3] = ["c++", "g++", "clang++"];

struct Bench<'a> {
    root: &'a Path,
    /// Where programs are built.
    out: PathBuf,
    compiler: OsString,
}

/// One thing to do, apart from the others.
enum Task {
    Run { check: &'static str, arguments: Vec<String> },
    Fault(usize, &'static Fault),
}

/// Compiles and runs everything.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), Trouble> {
    let compiler = compiler().map_err(Trouble::Tools)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let bench = Bench { root, out: target.join("kernels-host"), compiler };
    bench.check(options).map_err(Trouble::Kernels)
}

/// Compiles the kernels as a library of the host, without instructions that another machine may lack.
pub(crate) fn library(root: &Path, library: &Path) -> anyhow::Result<()> {
    let host = root.join("kernels/host");
    let mut command = Command::new(compiler()?);
    command.args(["-std=c++20", "-O2", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC", "-shared"]);
    if cfg!(target_arch = "x86_64") {
        command.args(["-mavx2", "-mfma", "-mf16c"]);
    }
    command.arg(host.join("dispatch.cpp")).arg(host.join("shim.cpp")).arg("-o").arg(library);
    let output = command.output().context("cannot start the C++ compiler")?;
    if !output.status.success() {
        bail!("the kernels' host twins do not compile:\n{}", told(&output));
    }
    Ok(())
}

fn compiler() -> anyhow::Result<OsString> {
    let named = std::env::var_os("CXX");
    let mut candidates = named.into_iter().chain(COMPILERS.map(OsString::from));
    let answers =
        |name: &OsString| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    candidates.find(answers).context("no C++ compiler: looked for $CXX, c++, g++ and clang++; install one")
}

impl Bench<'_> {
    fn check(&self, options: &Options) -> anyhow::Result<()> {
        if self.out.try_exists()? {
            std::fs::remove_dir_all(&self.out)?;
        }
        std::fs::create_dir_all(&self.out)?;
        let kernels = self.root.join("kernels");
        in_parallel(CHECKS.to_vec(), |check| self.compile(&kernels, check, &self.program(check), "-O2"))?;
        self.compare_launches(options.write)?;
        in_parallel(self.tasks(options.full), |task| self.run_task(task))?;
        println!("kernels: every check passes, and each of {} planted faults is caught", FAULTS.len());
        Ok(())
    }

    fn program(&self, check: &str) -> PathBuf {
        self.out.join(check)
    }

    /// Longest first, so that none is left alone at the end.
    fn tasks(&self, full: bool) -> Vec<Task> {
        let how = if full { "full" } else { "ci" }.to_owned();
        let root = self.root.to_string_lossy().into_owned();
        let mut tasks = vec![Task::Run { check: "forward", arguments: vec![root, how.clone()] }];
        tasks.extend((0..ATTENTION_PARTS).map(|part| {
            let arguments = vec![how.clone(), part.to_string(), ATTENTION_PARTS.to_string()];
            Task::Run { check: "attention", arguments }
        }));
        tasks.extend(FAULTS.iter().enumerate().map(|(number, fault)| Task::Fault(number, fault)));
        tasks.push(Task::Run { check: "rows", arguments: Vec::new() });
        tasks
    }

    fn run_task(&self, task: Task) -> anyhow::Result<()> {
        let started = Instant::now();
        match task {
            Task::Run { check, arguments } => {
                let output = Command::new(self.program(check)).args(&arguments).output()?;
                let told = told(&output);
                if !output.status.success() {
                    bail!("{check} failed ({}):\n{told}", output.status);
                }
                println!("{told}{check}: {:.1} s", started.elapsed().as_secs_f64());
            }
            Task::Fault(number, fault) => {
                let how = self.caught(number, fault)?;
                println!("caught: {} ({how})", fault.name);
            }
        }
        Ok(())
    }

    /// Plants a fault into a copy; tells how it was noticed.
    fn caught(&self, number: usize, fault: &Fault) -> anyhow::Result<String> {
        let copy = self.out.join(format!("fault-{number}"));
        copy_sources(&self.root.join("kernels"), &copy)?;
        let file = copy.join(fault.file);
        std::fs::write(&file, plant(fault, &std::fs::read_to_string(&file)?)?)?;
        let program = copy.join("program");
        // Compiling takes longer than failing.
        self.compile(&copy, fault.check, &program, "-O1")?;
        let output = Command::new(&program).arg("quick").output()?;
        if output.status.success() {
            bail!("the fault {:?} in {} is not caught", fault.name, fault.file);
        }
        let told = told(&output);
        let first = told.lines().find(|line| line.starts_with("FAILED") || line.starts_with("shim"));
        std::fs::remove_dir_all(&copy)?;
        Ok(first.map_or_else(|| output.status.to_string(), |line| line.chars().take(100).collect()))
    }

    fn compile(&self, kernels: &Path, check: &str, program: &Path, level: &str) -> anyhow::Result<()> {
        let host = kernels.join("host");
        let mut command = Command::new(&self.compiler);
        // No fused multiply-adds but the written ones: those are counted, and would hide a rounding.
        command.args([
            "-std=c++20",
            level,
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-Wall",
            "-Wextra",
            "-Wno-parentheses",
        ]);
        if cfg!(target_arch = "x86_64") {
            command.arg("-march=native");
        }
        command
            .arg(host.join(format!("{check}_check.cpp")))
            .arg(host.join("shim.cpp"))
            .arg("-o")
            .arg(program);
        let output = command.output().context("cannot start the C++ compiler")?;
        if !output.status.success() {
            bail!("{check}_check.cpp does not compile:\n{}", told(&output));
        }
        print!("{}", told(&output));
        Ok(())
    }

    fn compare_launches(&self, write: bool) -> anyhow::Result<()> {
        let output = Command::new(self.program("attention")).arg("launches").output()?;
        if !output.status.success() {
            bail!("a launch does not fit its target:\n{}", told(&output));
        }
        let path = self.root.join(LAUNCHES);
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        if write {
            return Ok(std::fs::write(&path, table)?);
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        if committed == table {
            return Ok(());
        }
        for line in table.lines().filter(|line| !committed.lines().any(|known| known == *line)) {
            println!("+ {line}");
        }
        bail!(
            "{LAUNCHES} is not how launches are laid out; run `cargo xtask kernels-host --write` and look at the change"
        )
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Copies the files of kernels/ and of kernels/host that compile.
fn copy_sources(from: &Path, to: &Path) -> anyhow::Result<()> {
    for folder in ["", "host"] {
        std::fs::create_dir_all(to.join(folder))?;
        for entry in std::fs::read_dir(from.join(folder))? {
            let path = entry?.path();
            let compiles = path.extension().is_some_and(|end| end == "cu" || end == "h" || end == "cpp");
            if let (true, Some(name)) = (compiles, path.file_name()) {
                std::fs::copy(&path, to.join(folder).join(name))?;
            }
        }
    }
    Ok(())
}

/// Does everything on a few threads; the first failure is the answer, after what has begun has ended.
fn in_parallel<T: Send>(tasks: Vec<T>, act: impl Fn(T) -> anyhow::Result<()> + Sync) -> anyhow::Result<()> {
    let queue = Mutex::new(VecDeque::from(tasks));
    let failed = Mutex::new(None);
    let next = || {
        let stopped = failed.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        if stopped { None } else { queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front() }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(task) = next() {
                    if let Err(error) = act(task) {
                        failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_among_many_tasks_is_the_answer() {
        assert!(in_parallel(vec![1, 2, 3], |_| Ok(())).is_ok());
        let failed = in_parallel((0..100).collect(), |task| if task == 7 { bail!("seven") } else { Ok(()) });
        assert_eq!(failed.unwrap_err().to_string(), "seven");
    }
}
