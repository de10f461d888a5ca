//! `groundline config`.

use crate::args::ConfigCommand;
use crate::failure::Failure;
use crate::input::{display_name, read_text};
use crate::output::{Sink, one_line};
use groundline::{ConfigLayers, default_toml};
use groundline_types::Problem;

/// Largest configuration file in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// Prints the defaults, or checks a file.
pub(crate) fn run(command: &ConfigCommand, sink: &mut Sink) -> Result<(), Failure> {
    match command {
        ConfigCommand::Default => sink.write(&default_toml())?,
        ConfigCommand::Check { file } => {
            let name = display_name(file);
            let text = read_text(file, MAX_FILE_BYTES)?;
            let located = |problem: Problem| {
                let message = problem.message.replacen("the configuration", &name, 1);
                Problem::new(problem.code, message)
            };
            ConfigLayers::default().toml(text).load().map_err(located)?;
            sink.write(&format!("{} is right\n", one_line(&name)))?;
        }
    }
    Ok(())
}
