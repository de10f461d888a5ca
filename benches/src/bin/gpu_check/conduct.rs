//! The run of the parts: each a process of this program with a limit of its own.

use super::libraries::{names, search_path, usual_places, with_library};
use super::parts::{Found, PARTS, Part, Scale, Setup};
use super::verdict::verdict;
use super::{Arguments, EXIT_NO_GPU, limited};
use anyhow::{Context as _, bail};
use groundline_inference::cuda::{DeviceInfo, HostKernels, look};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// All of it; what would begin later is left out, and said to be: then not all is known to be right.
pub(crate) const TIME: Duration = Duration::from_secs(330);
/// Not a part, but how the GPU is found: its driver may hang too.
const DEVICE: &str = "device";
const DEVICE_SECONDS: u64 = 30;
const LINKER_PATH: &str = "LD_LIBRARY_PATH";

/// One part in this process: writes `value` and `is_right` to the output.
pub(crate) fn run_part(arguments: &Arguments, name: &str) -> anyhow::Result<ExitCode> {
    let part = PARTS.iter().find(|part| part.name == name);
    if part.is_none() && name != DEVICE {
        bail!("there is no part {name}");
    }
    let mut device_name = String::new();
    if part.is_none_or(|part| part.on_gpu) {
        match find(arguments.device) {
            Ok(device) if part.is_none() => {
                say(arguments, &device.to_string().into(), true)?;
                return Ok(ExitCode::SUCCESS);
            }
            Ok(device) => device_name = device.name,
            Err(why) => {
                say(arguments, &json!({ "error": why }), false)?;
                return Ok(ExitCode::from(EXIT_NO_GPU));
            }
        }
    }
    let run = |part: &Part| (part.run)(&setup(arguments, device_name)?);
    match part.map(run) {
        Some(Ok(Found { value, is_right })) => say(arguments, &value, is_right)?,
        Some(Err(error)) => say(arguments, &json!({ "error": format!("{error:#}") }), false)?,
        None => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn say(arguments: &Arguments, value: &Value, is_right: bool) -> anyhow::Result<()> {
    write(&arguments.output, &json!({ "value": value, "is_right": is_right }))
}

fn find(ordinal: usize) -> Result<DeviceInfo, String> {
    let devices =
        look().map_err(|problem| format!("this machine has no GPU that can be checked: {problem}"))?;
    let found = devices.into_iter().find(|info| info.ordinal == ordinal);
    found.ok_or_else(|| format!("there is no GPU cuda:{ordinal}"))
}

fn setup(arguments: &Arguments, device: String) -> anyhow::Result<Setup> {
    let kernels = HostKernels::load(&arguments.folder.join("kernels.so"))?;
    Ok(Setup {
        folder: arguments.folder.clone(),
        ordinal: arguments.device,
        device,
        kernels: Arc::new(kernels),
        scale: if arguments.rehearsal { Scale::rehearsal() } else { Scale::full() },
        time: Duration::from_secs(arguments.seconds),
    })
}

/// Runs parts as processes.
struct Conductor<'a> {
    arguments: &'a Arguments,
    /// What the dynamic linker is told, where it is told something else than this process was.
    linker_path: Option<OsString>,
    scratch: PathBuf,
}

/// What became of a part.
struct Ended {
    value: Value,
    is_right: bool,
    no_gpu: bool,
}

impl Conductor<'_> {
    fn run(&self, name: &str, limit: Duration, with_libraries: bool) -> anyhow::Result<Ended> {
        let Arguments { folder, device, rehearsal, .. } = self.arguments;
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--folder").arg(folder).arg("--device").arg(device.to_string());
        command.arg("--output").arg(&self.scratch).args(["--part", name]);
        command.arg("--seconds").arg(limit.as_secs().to_string());
        if *rehearsal {
            command.arg("--rehearsal");
        }
        if let (true, Some(path)) = (with_libraries, &self.linker_path) {
            command.env(LINKER_PATH, path);
        }
        match std::fs::remove_file(&self.scratch) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let status = limited::run(&mut command, limit)?;
        let written = std::fs::read(&self.scratch).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Ok(ended(status, written, limit))
    }
}

fn ended(status: Option<ExitStatus>, written: Option<Value>, limit: Duration) -> Ended {
    let no_gpu = status.and_then(|status| status.code()) == Some(i32::from(EXIT_NO_GPU));
    let why = match status {
        None => json!({ "timed_out_after_seconds": limit.as_secs_f64().round() }),
        Some(status) => match status.signal() {
            Some(signal) => json!({ "error": format!("it ended with signal {signal}") }),
            None => json!({ "error": format!("it ended with status {:?} and found nothing", status.code()) }),
        },
    };
    let is_over = status.is_some_and(|status| status.success() || no_gpu);
    match written.filter(|_| is_over) {
        Some(found) => Ended { value: found["value"].clone(), is_right: found["is_right"] == true, no_gpu },
        None => Ended { value: why, is_right: false, no_gpu },
    }
}

/// Everything: finds the GPU, runs the parts one after another, and judges.
pub(crate) fn check(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    let scratch = arguments.output.with_extension("part");
    let mut conductor = Conductor { arguments, linker_path: None, scratch };
    let limit = Duration::from_secs(DEVICE_SECONDS);
    let mut device = conductor.run(DEVICE, limit, true)?;
    let mut libraries = json!("found by the dynamic linker");
    if device.no_gpu {
        let tried = usual_places();
        let added = with_library(&tried);
        libraries = json!({ "tried": names(&tried), "added": names(&added) });
        if !added.is_empty() {
            conductor.linker_path = search_path(std::env::var_os(LINKER_PATH), &added);
            device = conductor.run(DEVICE, limit, true)?;
        }
    }
    if !device.is_right {
        let why = device.value["error"].as_str().map_or_else(|| device.value.to_string(), str::to_owned);
        eprintln!("error: {why}; cublasLt was also looked for here: {libraries}");
        return Ok(if device.no_gpu { ExitCode::from(EXIT_NO_GPU) } else { ExitCode::FAILURE });
    }
    println!("{}", device.value.as_str().unwrap_or_default());
    let mut findings = json!({
        "schema": "groundline.gpu-check/2", "device": device.value, "libraries": libraries,
        "rehearsal": arguments.rehearsal,
    });
    let mut all_right = true;
    for part in &PARTS {
        all_right &= run_one(&conductor, part, TIME.saturating_sub(started.elapsed()), &mut findings)?;
        // After each part, so that what was found stays whatever comes.
        write(&arguments.output, &findings)?;
    }
    findings["verdict"] = verdict(&findings);
    println!("verdict: {}", findings["verdict"]);
    findings["all_right"] = all_right.into();
    findings["seconds"] = started.elapsed().as_secs_f64().round().into();
    write(&arguments.output, &findings)?;
    let _ = std::fs::remove_file(&conductor.scratch);
    Ok(if all_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether the part is right; `left` is what is left of all time.
fn run_one(
    conductor: &Conductor<'_>,
    part: &Part,
    left: Duration,
    findings: &mut Value,
) -> anyhow::Result<bool> {
    let began = Instant::now();
    let limit = left.min(Duration::from_secs(part.seconds));
    if limit < Duration::from_secs(1) {
        println!("{}: left out, the time is up", part.name);
        findings[part.name] = json!({ "left_out": true });
        return Ok(false);
    }
    let ended = conductor.run(part.name, limit, part.on_gpu)?;
    let (took, word) = (began.elapsed().as_secs_f64(), if ended.is_right { "right" } else { "WRONG" });
    println!("{} ({took:.1} s, {word}): {}", part.name, ended.value);
    findings[part.name] = ended.value;
    Ok(ended.is_right)
}

fn write(path: &Path, findings: &Value) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(findings)? + "\n";
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_hangs_or_ends_badly_is_wrong_whatever_it_wrote() {
        let good = || Some(json!({ "value": 7, "is_right": true }));
        let limit = Duration::from_secs(9);
        let done = ended(Some(ExitStatus::from_raw(0)), good(), limit);
        assert!(done.is_right && done.value == 7 && !done.no_gpu);
        let hung = ended(None, good(), limit);
        assert!(!hung.is_right && hung.value["timed_out_after_seconds"] == 9.0);
        let killed = ended(Some(ExitStatus::from_raw(11)), good(), limit);
        assert!(!killed.is_right && killed.value["error"].as_str().unwrap().contains("signal 11"));
        let silent = ended(Some(ExitStatus::from_raw(0)), None, limit);
        assert!(!silent.is_right && silent.value["error"].is_string());
        let absent = Some(json!({ "value": { "error": "no" }, "is_right": false }));
        let absent = ended(Some(ExitStatus::from_raw(4 << 8)), absent, limit);
        assert!(absent.no_gpu && !absent.is_right && absent.value["error"] == "no");
    }

    #[test]
    fn no_part_may_take_all_of_the_time_and_names_are_apart() {
        let mut names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        names.dedup();
        assert_eq!(names.len(), PARTS.len());
        assert!(PARTS.iter().all(|part| part.seconds * 2 < TIME.as_secs()));
    }
}
