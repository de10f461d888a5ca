//! A configuration file with every option, made from the inventory.

use super::inventory::{MODEL_OPTIONS, OPTIONS, POLICY_OPTIONS, SECTIONS, UNSET_OPTIONS, defaults};
use std::collections::BTreeMap;

/// Width of comments.
const COLUMNS: usize = 100;

/// A TOML file with every option, its meaning, its unit and its default. Read back, it gives [`super::Config::default`].
pub fn default_toml() -> String {
    let defaults = defaults().into_iter().collect::<BTreeMap<_, _>>();
    let mut out = String::from(
        "# Groundline's configuration: every option with its default. Keep the lines that you change.\n\
         # Environment variables win over this file, options on the command line win over both.\n",
    );
    for (section, about) in SECTIONS {
        let prefix = format!("{section}.");
        let options = OPTIONS.iter().filter(|info| info.key.starts_with(&prefix)).collect::<Vec<_>>();
        if options.is_empty() {
            continue;
        }
        push(&mut out, format_args!("\n# {about}\n[{section}]\n"));
        for info in options {
            let shortcut = info.shortcut.map(|name| format!(" or {name}")).unwrap_or_default();
            out.push('\n');
            comment(
                &mut out,
                &format!(
                    "{}. Unit: {}. Environment: {}{shortcut}.",
                    sentence(info.summary),
                    info.unit,
                    info.variable()
                ),
            );
            let value = defaults.get(info.key).map(toml::Value::to_string).unwrap_or_default();
            push(&mut out, format_args!("{} = {value}\n", &info.key[prefix.len()..]));
        }
    }
    models(&mut out);
    policies(&mut out);
    out
}

/// Learned detectors have names of the user's too.
fn models(out: &mut String) {
    out.push_str("\n# Learned detectors beside the model, each a method: any number of sections [models.NAME], such as\n");
    for line in EXAMPLE_MODEL.lines() {
        push(out, format_args!("# {line}\n"));
    }
    for info in MODEL_OPTIONS {
        comment(out, &format!("{}: {}. Unit: {}.", info.key, info.summary, info.unit));
    }
}

/// A learned detector as it stands in a configuration.
const EXAMPLE_MODEL: &str = "\
[models.minicheck]
preset = \"minicheck-roberta\"
path = \"./MiniCheck-RoBERTa-Large\"
";

/// Policies have names of the user's, so there is none to show but as an example.
fn policies(out: &mut String) {
    out.push_str("\n# Methods in stages, for requests with `policy`: any number of sections [policies.NAME], such as\n");
    for line in EXAMPLE_POLICY.lines() {
        push(out, format_args!("# {line}\n"));
    }
    for info in POLICY_OPTIONS.iter().chain(UNSET_OPTIONS) {
        comment(out, &format!("{}: {}. Unit: {}.", info.key, info.summary, info.unit));
    }
}

/// A policy as it stands in a configuration.
const EXAMPLE_POLICY: &str = "\
[policies.cascade]
always = [\"entailment\", \"numeric\"]
grey_zone = { methods = [\"summac\"], support_from = 0.3, support_to = 0.7 }
audit = { methods = [\"summac_conv\"], rate = 0.02 }
";

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn comment(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > COLUMNS {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

fn push(out: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = std::fmt::Write::write_fmt(out, arguments);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConfigLayers;

    #[test]
    fn the_example_of_a_policy_is_one() {
        let config = ConfigLayers::default().toml(EXAMPLE_POLICY).load().unwrap();
        assert_eq!(config.policies["cascade"].always, ["entailment", "numeric"]);
        assert!(default_toml().contains("# [policies.cascade]"));
    }

    #[test]
    fn the_example_of_a_learned_detector_is_one() {
        let config = ConfigLayers::default().toml(EXAMPLE_MODEL).load().unwrap();
        assert_eq!(config.models["minicheck"].preset.name(), "minicheck-roberta");
        assert!(default_toml().contains("# [models.minicheck]"));
    }
}
