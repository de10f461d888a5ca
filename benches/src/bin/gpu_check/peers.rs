//! The same shapes and lengths in this machine's PyTorch with transformers: a script, whose lines are findings as they come.

use super::limited;
use super::parts::{Found, Setup};
use serde_json::{Value, json};
use std::io::{Read as _, Seek as _};
use std::process::Command;
use std::time::Duration;

/// What is left of the part's time when the script is ended.
const MARGIN: Duration = Duration::from_secs(5);

pub(crate) fn peers(setup: &Setup) -> anyhow::Result<Found> {
    let (mut said, mut complained) = (tempfile::tempfile()?, tempfile::tempfile()?);
    let mut command = Command::new("python3");
    command.arg(setup.folder.join("gpu_torch.py")).arg(setup.ordinal.to_string());
    command.stdout(said.try_clone()?).stderr(complained.try_clone()?);
    let limit = setup.time.saturating_sub(MARGIN).max(Duration::from_secs(1));
    let status = limited::run(&mut command, limit);
    let mut texts = [String::new(), String::new()];
    for (file, text) in [&mut said, &mut complained].into_iter().zip(&mut texts) {
        file.rewind()?;
        file.read_to_string(text)?;
    }
    let [said, complained] = texts;
    let why = match status {
        Ok(Some(status)) if status.success() => None,
        Ok(Some(_)) => Some(complained.lines().last().unwrap_or("python3 failed").to_owned()),
        Ok(None) => Some(format!("the rest: it was ended after {} s", limit.as_secs())),
        Err(error) => Some(format!("python3: {error}")),
    };
    // A machine without PyTorch is no fault of ours.
    Ok(Found { value: merged(&said, why), is_right: true })
}

/// The findings of all lines, and why there are no more.
fn merged(said: &str, why: Option<String>) -> Value {
    let mut value = json!({});
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for (name, found) in lines.filter_map(|line| line.as_object().cloned()).flatten() {
        value[name] = found;
    }
    if let Some(why) = why {
        value["not_measured"] = why.into();
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_merged_and_a_script_that_was_ended_keeps_what_it_said() {
        let said = "{\"torch\": \"2.9\"}\n{\"large 128 eager\": 70}\na warning\n{\"large 12";
        let found = merged(said, Some("ended".to_owned()));
        assert_eq!(found, json!({ "torch": "2.9", "large 128 eager": 70, "not_measured": "ended" }));
        assert_eq!(merged("", None), json!({}));
    }
}
