//! A configuration file with every option, made from the inventory.

use super::inventory::{OPTIONS, SECTIONS, defaults};
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
    out
}

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
