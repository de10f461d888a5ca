//! From the command line to a command and its exit status.

use crate::args::{CheckArgs, Cli, Command, PrecisionArg};
use crate::check::check;
use crate::console::Console;
use crate::failure::{EXIT_OK, Failure};
use crate::interrupt::Interrupts;
use crate::output::Sink;
#[cfg(feature = "cluster")]
use crate::{
    args::RoleArgs,
    roles::{self, Role},
};
use crate::{config_command, ensemble_command, judge_command, methods_command, models_command};
use clap::Parser;
use groundline::{ColorMode, Config, ConfigLayers, DeviceChoice};
use groundline_types::{Code, Problem};
use std::path::Path;
use std::process::ExitCode;
use tracing_subscriber::EnvFilter;

/// Threads for actors and timers; the engine has a pool of its own.
const RUNTIME_THREADS: usize = 2;

/// Runs the command that was typed.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    if !logs_by_itself(&cli.command) {
        start_logging(cli.global.verbose);
    }
    let color = cli.global.color.map_or(ColorMode::Auto, ColorMode::from);
    let mut console = Console::new(color, cli.global.quiet);
    let status = match dispatch(cli, &mut console) {
        Ok(status) => status,
        Err(failure) => {
            console.clear();
            console.fail(&failure);
            failure.exit_status()
        }
    };
    ExitCode::from(status)
}

/// Whether a command sets up its logs as its configuration says.
fn logs_by_itself(command: &Command) -> bool {
    #[cfg(feature = "cluster")]
    if matches!(
        command,
        Command::Serve(_) | Command::Gateway(_) | Command::Coordinator(_) | Command::Worker(_)
    ) {
        return true;
    }
    let _ = command;
    false
}

/// Warnings by default; RUST_LOG decides where it is set.
fn start_logging(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    let logging = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    logging.with_ansi(false).compact().init();
}

fn dispatch(cli: Cli, console: &mut Console) -> Result<u8, Failure> {
    if let Command::Config(command) = &cli.command {
        config_command::run(command, &mut Sink::stdout())?;
        return Ok(EXIT_OK);
    }
    let mut layers = ConfigLayers::default().environment(environment());
    if let Some(path) = &cli.global.config {
        layers = layers.file(path);
    }
    if let Some(color) = cli.global.color {
        layers = layers.set("output.color", ColorMode::from(color).name());
    }
    match cli.command {
        Command::Config(_) => Ok(EXIT_OK),
        Command::Methods { json } => {
            methods_command::run(json, &mut Sink::stdout())?;
            Ok(EXIT_OK)
        }
        Command::Judge(command) => {
            judge_command::run(&command, &layers.load()?, &mut Sink::stdout())?;
            Ok(EXIT_OK)
        }
        Command::Ensemble(args) => {
            let config = layers.load()?;
            let run = ensemble_command::run(args.command, &config, &mut |message| console.tell(message));
            run.map_err(Failure::of_file)?;
            Ok(EXIT_OK)
        }
        Command::Models(args) => models_command::run(args, layers, console, &mut Sink::stdout()),
        Command::Check(args) => {
            let config = with_options(layers, &args).load()?;
            run_check(*args, config, cli.global.config.as_deref(), console)
        }
        #[cfg(feature = "cluster")]
        Command::Serve(args) => roles::run(Role::Serve, role_layers(layers, &args).load()?, console),
        #[cfg(feature = "cluster")]
        Command::Gateway(args) => roles::run(Role::Gateway, role_layers(layers, &args).load()?, console),
        #[cfg(feature = "cluster")]
        Command::Coordinator(args) => {
            roles::run(Role::Coordinator, role_layers(layers, &args).load()?, console)
        }
        #[cfg(feature = "cluster")]
        Command::Worker(args) => roles::run(Role::Worker, role_layers(layers, &args).load()?, console),
        #[cfg(feature = "cluster")]
        Command::Doctor(args) => {
            let config = with_nats(layers, args.nats.as_deref()).load()?;
            roles::run_doctor(args.json, &config, &mut Sink::stdout())
        }
        #[cfg(feature = "cluster")]
        Command::Dead(command) => roles::run_dead(&command, layers.load()?, &mut Sink::stdout()),
        #[cfg(feature = "cluster")]
        Command::Keys(command) => roles::run_keys(&command, &mut Sink::stdout()),
        #[cfg(not(feature = "cluster"))]
        Command::Serve(_) => Err(Failure::Usage(
            "this build has none of the commands of a service and a cluster".to_owned(),
            "build it with `cargo build --release --features cluster`".to_owned(),
        )),
    }
}

#[cfg(feature = "cluster")]
fn role_layers(layers: ConfigLayers, args: &RoleArgs) -> ConfigLayers {
    let mut layers = with_nats(layers, args.nats.as_deref());
    let texts = [
        ("gateway.listen", &args.listen),
        ("gateway.admin_listen", &args.admin_listen),
        ("model.name", &args.model),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            layers = layers.set(key, text.as_str());
        }
    }
    if let Some(threads) = args.threads {
        layers = layers.set("engine.threads", threads as u64);
    }
    layers = with_candidates(layers, args.candidates);
    with_precision(with_device(layers, args.device), args.precision)
}

#[cfg(feature = "cluster")]
fn with_nats(layers: ConfigLayers, url: Option<&str>) -> ConfigLayers {
    match url {
        Some(url) => layers.set("nats.urls", vec![url.to_owned()]),
        None => layers,
    }
}

fn with_precision(layers: ConfigLayers, precision: Option<PrecisionArg>) -> ConfigLayers {
    match precision {
        Some(precision) => layers.set("engine.precision", precision.name()),
        None => layers,
    }
}

fn with_candidates(layers: ConfigLayers, candidates: Option<usize>) -> ConfigLayers {
    match candidates {
        Some(sentences) => layers.set("detectors.candidate_sentences", sentences as u64),
        None => layers,
    }
}

fn with_device(layers: ConfigLayers, device: Option<DeviceChoice>) -> ConfigLayers {
    match device {
        Some(device) => layers.set("engine.device", device.to_string()),
        None => layers,
    }
}

/// Variables that are UTF-8; no option needs another.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text.into_string().ok()?)))
}

/// Options of the command line win over everything else.
fn with_options(mut layers: ConfigLayers, args: &CheckArgs) -> ConfigLayers {
    if let Some(threads) = args.threads {
        layers = layers.set("engine.threads", threads as u64);
    }
    layers = with_precision(with_device(layers, args.device), args.precision);
    layers = with_candidates(layers, args.candidates);
    if let Some(model) = &args.model {
        layers = layers.set("model.name", model.as_str());
    }
    if !args.labels.is_empty() {
        layers = layers.set("model.labels", args.labels.clone());
    }
    if let Some(offsets) = args.offsets {
        layers = layers.set("output.offsets", offsets.name());
    }
    layers
}

fn run_check(
    args: CheckArgs,
    config: Config,
    config_file: Option<&Path>,
    console: &mut Console,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(RUNTIME_THREADS)
        .enable_all()
        .build()
        .map_err(|error| Problem::new(Code::INTERNAL, format!("cannot start the runtime: {error}")))?;
    let interrupts = Interrupts::listen(runtime.handle())?;
    let outcome = runtime.block_on(check(args, config, config_file, console, interrupts));
    // What still runs (an engine in the middle of a batch) has no reader any more.
    runtime.shutdown_background();
    outcome
}
