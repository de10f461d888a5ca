//! Rust files that no crate compiles.

use super::Finding;
use super::source::{SourceFile, find_words};
use anyhow::Context as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The root files of every target of the workspace, from the root of the repository.
pub(super) fn roots(metadata: &Value, root: &Path) -> anyhow::Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let targets = packages.iter().filter_map(|package| package["targets"].as_array()).flatten();
    let paths = targets.filter_map(|target| target["src_path"].as_str());
    Ok(paths
        .filter_map(|path| Path::new(path).strip_prefix(root).ok()?.to_str())
        .map(str::to_owned)
        .collect())
}

/// The root files of programs that have a manifest and are no member of the workspace.
pub(super) fn roots_outside(files: &[SourceFile]) -> impl Iterator<Item = String> {
    let folders = files.iter().filter_map(|file| file.path.strip_suffix("/Cargo.toml"));
    folders.map(|folder| format!("{folder}/src/main.rs"))
}

/// Reports Rust files that cannot be reached from a root by `mod` lines.
pub(super) fn check(roots: &[String], files: &[SourceFile]) -> Vec<Finding> {
    let by_path = files.iter().map(|file| (file.path.as_str(), file)).collect::<BTreeMap<_, _>>();
    let mut reached = BTreeSet::new();
    let mut open = roots.to_vec();
    while let Some(path) = open.pop() {
        let Some(file) = by_path.get(path.as_str()) else { continue };
        if reached.insert(path) {
            open.extend(modules(file, roots));
        }
    }
    let dead = files.iter().filter(|file| file.is_rust() && !reached.contains(&file.path));
    dead.map(|file| {
        Finding::error(&file.path, 1, "dead-file", "no `mod` line and no manifest names this file; delete it")
    })
    .collect()
}

/// Paths that the `mod name;` lines of a file may mean.
fn modules(file: &SourceFile, roots: &[String]) -> Vec<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let is_root = roots.contains(&file.path) || name == "mod.rs";
    let stem = name.trim_end_matches(".rs");
    let below = if is_root { folder.to_owned() } else { format!("{folder}/{stem}") };
    let mut paths = Vec::new();
    for at in find_words(&file.code, "mod") {
        let rest = &file.code[at + 3..];
        let Some(end) = rest.find([';', '{']) else { continue };
        if rest.as_bytes()[end] == b';' {
            let module = rest[..end].trim();
            paths.push(format!("{below}/{module}.rs"));
            paths.push(format!("{below}/{module}/mod.rs"));
        }
    }
    for at in file.code.match_indices("#[path").map(|(at, _)| at) {
        if let Some((_, named)) = file.literal(at, file.code.len()) {
            paths.push(format!("{folder}/{named}"));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::super::tests::{brief, file};
    use super::*;

    #[test]
    fn a_file_that_no_mod_line_names_is_dead() {
        let files = [
            file("a/src/lib.rs", "mod one;\n// mod ghost;\nmod two;\n#[path = \"odd_name.rs\"]\nmod odd;\n"),
            file("a/src/one.rs", "#[cfg(test)]\nmod tests;\n"),
            file("a/src/one/tests.rs", ""),
            file("a/src/two/mod.rs", "mod inner;\n"),
            file("a/src/two/inner.rs", ""),
            file("a/src/odd_name.rs", ""),
            file("a/src/ghost.rs", ""),
        ];
        assert_eq!(brief(&check(&["a/src/lib.rs".to_owned()], &files)), ["a/src/ghost.rs:1: dead-file"]);
        assert!(check(&["a/src/lib.rs".to_owned(), "a/src/ghost.rs".to_owned()], &files).is_empty());
    }

    #[test]
    fn roots_come_from_the_manifests() {
        let metadata = serde_json::json!({"packages": [{"targets": [{"src_path": "/r/a/src/lib.rs"}]}]});
        assert_eq!(roots(&metadata, Path::new("/r")).unwrap(), ["a/src/lib.rs"]);
        let files = [file("b/Cargo.toml", ""), file("b/src/main.rs", "mod one;\n"), file("b/src/two.rs", "")];
        assert_eq!(roots_outside(&files).collect::<Vec<_>>(), ["b/src/main.rs"]);
    }
}
