//! The `groundline` command: reading input, drawing output, exit statuses. Whatever decides something is in the library.

#![forbid(unsafe_code)]

mod app;
mod args;
mod check;
mod config_command;
mod console;
mod ensemble_command;
mod failure;
mod input;
mod interrupt;
mod judge_command;
mod methods_command;
mod models_command;
mod output;
mod progress;
#[cfg(feature = "cluster")]
mod roles;

/// A third of the processor time of a check went into the system's allocator: `docs/adr/0006-mimalloc.md`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    app::run()
}
