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
                let message = match problem.message.strip_prefix("the configuration") {
                    Some(rest) => format!("{name}{rest}"),
                    None => format!("{name}: {}", problem.message),
                };
                Problem::new(problem.code, message)
            };
            let text = text.trim_start_matches('\u{feff}');
            ConfigLayers::default().toml(text).load().map_err(located)?;
            sink.write(&format!("{} is right\n", one_line(&name)))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.toml");
        for text in [
            "[engine]\nthreads = = 2",
            "[engine]\nthreds = 2",
            "[engine]\nthreads = 9999",
            "[engine]\nthreads = \"many\"",
        ] {
            std::fs::write(&path, text).unwrap();
            let command = ConfigCommand::Check { file: path.clone() };
            let failure = run(&command, &mut Sink::stdout()).unwrap_err();
            let Failure::Problem(problem) = failure else { panic!("{failure:?}") };
            let name = path.display().to_string();
            assert_eq!(problem.message.matches(&name).count(), 1, "{}", problem.message);
            assert!(problem.message.starts_with(&name), "{}", problem.message);
        }
    }
}
