//! Finding models on disk.

use crate::Config;
use groundline_types::{Code, Problem};
use std::path::{Path, PathBuf};

/// The folder of models in the source tree that this was built from, for `cargo run` and tests.
const SOURCE_TREE_MODELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");

/// A model that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// Name of its folder.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
}

/// The folders that models are looked for in, in order:
/// `model.dirs` of the configuration, `models` beside the executable, `../share/groundline/models` from there, `models` in
/// the working directory, and `models` of the source tree that this was built from.
pub fn model_folders(config: &Config) -> Vec<PathBuf> {
    let mut folders = config.model.dirs.clone();
    // Resolved, so that a link in a `bin` folder finds what lies beside the program itself.
    let executable = std::env::current_exe().and_then(std::fs::canonicalize);
    if let Some(beside) = executable.ok().as_deref().and_then(Path::parent) {
        folders.push(beside.join("models"));
        folders.extend(beside.parent().map(|prefix| prefix.join("share/groundline/models")));
    }
    folders.push(PathBuf::from("models"));
    folders.push(std::fs::canonicalize(SOURCE_TREE_MODELS).unwrap_or_else(|_| SOURCE_TREE_MODELS.into()));
    folders.dedup();
    folders
}

/// The folder of the model that `config` names.
///
/// A name with a path separator is a folder; any other is looked up in [`model_folders`], then taken for a folder in the
/// working directory.
///
/// # Errors
/// [`Code::MODEL_NOT_FOUND`] with the places that were looked at.
pub fn find_model(config: &Config) -> Result<PathBuf, Problem> {
    find_in(&config.model.name, &model_folders(config))
}

pub(super) fn find_in(name: &str, folders: &[PathBuf]) -> Result<PathBuf, Problem> {
    let direct = PathBuf::from(name);
    if direct.components().count() > 1 || direct.is_absolute() || name.starts_with('.') {
        if is_model(&direct) {
            return Ok(direct);
        }
        let message = format!("no model in {name}: the folder is missing or has no config.json");
        return Err(Problem::new(Code::MODEL_NOT_FOUND, message));
    }
    let places = folders.iter().map(|folder| folder.join(name)).chain([direct]).collect::<Vec<_>>();
    if let Some(found) = places.iter().find(|place| is_model(place)) {
        return Ok(found.clone());
    }
    let looked = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ");
    let message = format!("no model called `{name}`; looked for config.json in {looked}");
    Err(Problem::new(Code::MODEL_NOT_FOUND, message))
}

/// Every model in [`model_folders`], each name once: the one that the name would find.
pub fn list_models(config: &Config) -> Vec<FoundModel> {
    list_in(&model_folders(config))
}

fn list_in(folders: &[PathBuf]) -> Vec<FoundModel> {
    let mut found: Vec<FoundModel> = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>();
        names.sort();
        for name in names {
            let path = folder.join(&name);
            if is_model(&path) && found.iter().all(|model| model.name != name) {
                found.push(FoundModel { name, path });
            }
        }
    }
    found
}

fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(folder: &Path, name: &str) {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join("config.json"), "{}").unwrap();
    }

    #[test]
    fn a_name_is_looked_up_in_order_and_a_path_is_taken_as_it_is() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        model(first.path(), "b");
        model(second.path(), "a");
        model(second.path(), "b");
        std::fs::create_dir(first.path().join("no-model")).unwrap();
        let folders = [first.path().to_owned(), second.path().to_owned()];
        assert_eq!(find_in("b", &folders), Ok(first.path().join("b")));
        assert_eq!(find_in("a", &folders), Ok(second.path().join("a")));
        let path = second.path().join("b");
        assert_eq!(find_in(&path.display().to_string(), &[]), Ok(path));
        let names = list_in(&folders).into_iter().map(|model| model.path).collect::<Vec<_>>();
        assert_eq!(names, [first.path().join("b"), second.path().join("a")]);
    }

    #[test]
    fn what_is_not_found_names_the_places_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let problem = find_in("none", &[folder.path().to_owned()]).unwrap_err();
        assert_eq!(problem.code, Code::MODEL_NOT_FOUND);
        assert!(problem.message.contains(&folder.path().join("none").display().to_string()), "{problem}");
        assert_eq!(find_in("./none", &[]).unwrap_err().code, Code::MODEL_NOT_FOUND);
    }

    #[test]
    fn the_default_model_is_found_with_no_option_given() {
        let path = find_model(&Config::default()).unwrap();
        assert!(path.ends_with("groundline-mini"));
    }
}
