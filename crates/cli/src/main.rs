//! The `groundline` command: reading input, drawing output, exit statuses. Whatever decides something is in the library.

#![forbid(unsafe_code)]

mod app;
mod args;
mod check;
mod config_command;
mod console;
mod failure;
mod input;
mod interrupt;
mod methods_command;
mod models_command;
mod output;
mod progress;
#[cfg(feature = "cluster")]
mod roles;

fn main() -> std::process::ExitCode {
    app::run()
}
