//! Putting settings together from defaults, a file, the environment and overrides.

use super::Config;
use super::inventory::{
    MODEL_OPTIONS, OPTIONS, OptionInfo, POLICY_OPTIONS, default_of, is_unset_option, option, policy_key,
};
use config::{File, FileFormat, Value, ValueKind};
use groundline_types::{Code, Problem, nearest_name};
use std::path::{Path, PathBuf};

/// Largest configuration file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Where settings come from, in order; what comes later wins.
///
/// ```
/// # fn main() -> Result<(), groundline::Problem> {
/// let layers = groundline::ConfigLayers::default()
///     .toml("[engine]\nthreads = 4")
///     .environment([("GROUNDLINE_THREADS".to_owned(), "3".to_owned())])
///     .set("output.evidence", 2);
/// let config = layers.load()?;
/// assert_eq!((config.engine.threads, config.output.evidence), (3, 2));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConfigLayers {
    file: Option<PathBuf>,
    toml: Option<String>,
    environment: Vec<(String, String)>,
    overrides: Vec<(&'static str, Value)>,
}

impl ConfigLayers {
    /// Reads this TOML file.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Reads this TOML text, after the file.
    pub fn toml(mut self, text: impl Into<String>) -> Self {
        self.toml = Some(text.into());
        self
    }

    /// Reads variables called `GROUNDLINE_…`; pass [`std::env::vars`] or a part of it.
    ///
    /// A variable that names no option is left alone, with a warning in the log where it looks like a typing mistake:
    /// Kubernetes sets `GROUNDLINE_PORT` and others beside a service of that name.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        self.environment.extend(variables.into_iter().filter(|(name, _)| name.starts_with("GROUNDLINE_")));
        self
    }

    /// Sets one option by its key, such as `engine.threads`.
    pub fn set(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.overrides.push((key, value.into()));
        self
    }

    /// The settings.
    ///
    /// # Errors
    /// [`Code::INVALID_CONFIG`] where a key is unknown (the nearest known one is named), a value is of the wrong type or
    /// out of range, or a text is not TOML; [`Code::UNREADABLE_FILE`].
    pub fn load(self) -> Result<Config, Problem> {
        let mut builder = config::Config::builder();
        if let Some(path) = &self.file {
            let (text, name) = (read(path)?, path.display().to_string());
            check_keys(&text, &name)?;
            builder = builder.add_source(File::from_str(&text, FileFormat::Toml));
        }
        if let Some(text) = &self.toml {
            check_keys(text, "the configuration")?;
            builder = builder.add_source(File::from_str(text, FileFormat::Toml));
        }
        for (name, text) in &self.environment {
            let Some(info) = option_of_variable(name) else { continue };
            let value = value_of_variable(info, text);
            builder = builder.set_override(info.key, value).map_err(|error| invalid(&error.to_string()))?;
        }
        for (key, value) in self.overrides {
            if option(key).is_none() {
                return Err(unknown_key(key, "an override"));
            }
            builder = builder.set_override(key, value).map_err(|error| invalid(&error.to_string()))?;
        }
        let built = builder.build().map_err(|error| invalid(&error.to_string()))?;
        let config: Config = built.try_deserialize().map_err(|error| refused_value(&error))?;
        config.validate()?;
        Ok(config)
    }
}

/// How the library tells of a word that a setting does not take: by the type's name, without the words that it takes.
const UNKNOWN_WORD: &str = " does not have variant constructor ";

/// A value that a setting does not take, with what it takes where that is a set of words.
fn refused_value(error: &config::ConfigError) -> Problem {
    if let config::ConfigError::At { error: inner, key: Some(key), .. } = error
        && let Some((_, word)) = inner.to_string().split_once(UNKNOWN_WORD)
        && let Some(info) = option(key).or_else(|| named_option(key))
    {
        return invalid(&format!("{key} is {word:?}, it must be {}", info.unit));
    }
    invalid(&error.to_string())
}

/// The option of a section that users name which a whole key is of.
fn named_option(key: &str) -> Option<&'static OptionInfo> {
    let (key, _) = policy_key(key)?;
    named_options().find(|info| info.key == key)
}

fn read(path: &Path) -> Result<String, Problem> {
    let unreadable = |error: std::io::Error| {
        let message = format!("cannot read the configuration file {}: {error}", path.display());
        Problem::new(Code::UNREADABLE_FILE, message)
    };
    let size = std::fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_FILE_BYTES {
        let message = format!("{} has {size} bytes; is it a configuration file?", path.display());
        return Err(Problem::new(Code::TOO_LARGE, message));
    }
    std::fs::read_to_string(path).map_err(unreadable)
}

/// Checks that a text is TOML and that each of its keys names an option.
fn check_keys(text: &str, name: &str) -> Result<(), Problem> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(1, |span| 1 + text[..span.start.min(text.len())].matches('\n').count());
        invalid(&format!("{name}, line {line}: {}", error.message().replace('\n', "; ")))
    })?;
    let mut keys = Vec::new();
    super::inventory::flatten("", &table, &mut keys);
    match keys.iter().find(|(key, _)| !is_known(key)) {
        Some((key, _)) => Err(unknown_key(key, name)),
        None => Ok(()),
    }
}

fn is_known(key: &str) -> bool {
    option(key).is_some() || is_unset_option(key) || named_option(key).is_some()
}

/// The options of sections that users name.
fn named_options() -> impl Iterator<Item = &'static OptionInfo> {
    POLICY_OPTIONS.iter().chain(MODEL_OPTIONS)
}

/// The nearest setting to one of a policy or a model, under its own name.
fn nearest_of_policy(key: &str) -> Option<String> {
    let (open, name) = policy_key(key)?;
    let nearest = nearest_name(&open, named_options().map(|info| info.key))?;
    Some(nearest.replacen("NAME", name, 1))
}

fn unknown_key(key: &str, name: &str) -> Problem {
    let shown: String = key.chars().filter(|c| !c.is_control()).take(80).collect();
    let last = |key: &'static str| key.rsplit('.').next().unwrap_or(key);
    let moved =
        OPTIONS.iter().find(|info| Some(last(info.key)) == shown.rsplit('.').next()).map(|info| info.key);
    let known = nearest_name(&shown, OPTIONS.iter().map(|info| info.key)).or(moved).map(str::to_owned);
    let hint = match nearest_of_policy(&shown).or(known) {
        Some(known) => format!("; did you mean `{known}`?"),
        None => "; `groundline config default` lists every key".to_owned(),
    };
    invalid(&format!("{name}: unknown key `{shown}`{hint}"))
}

fn option_of_variable(name: &str) -> Option<&'static OptionInfo> {
    let found = OPTIONS.iter().find(|info| info.variable() == name || info.shortcut == Some(name));
    if found.is_none() {
        let known = OPTIONS.iter().map(OptionInfo::variable).collect::<Vec<_>>();
        if let Some(nearest) = nearest_name(name, known.iter().map(String::as_str)) {
            tracing::warn!(variable = name, nearest, "an environment variable names no option");
        }
    }
    found
}

/// A variable's text as a value: a list is given with commas between.
fn value_of_variable(info: &OptionInfo, text: &str) -> Value {
    let origin = info.variable();
    let kind = match default_of(info.key) {
        Some(toml::Value::Array(_)) => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            ValueKind::from(items.map(str::to_owned).collect::<Vec<_>>())
        }
        _ => ValueKind::from(text.to_owned()),
    };
    Value::new(Some(&origin), kind)
}

pub(super) fn invalid(message: &str) -> Problem {
    Problem::new(Code::INVALID_CONFIG, message)
}

#[cfg(test)]
mod tests;
