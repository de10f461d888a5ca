//! Where cublasLt lies when the dynamic linker does not know: toolkits, and what PyTorch brings.

use super::limited;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The names that the engine looks for.
const NAMES: [&str; 2] = ["libcublasLt.so.13", "libcublasLt.so"];
/// Variables that name a toolkit.
const TOOLKITS: [&str; 2] = ["CUDA_HOME", "CUDA_PATH"];
/// Folders of a toolkit.
const IN_TOOLKIT: [&str; 3] = ["lib64", "lib", "targets/x86_64-linux/lib"];
/// Folders of NVIDIA's packages for Python: of CUDA 13, and of CUDA 12 and before.
const IN_PACKAGES: [&str; 2] = ["nvidia/cu13/lib", "nvidia/cublas/lib"];
const PYTHON: Duration = Duration::from_secs(10);

/// The usual places, in the order of preference.
pub(crate) fn usual_places() -> Vec<PathBuf> {
    let named = TOOLKITS.iter().filter_map(std::env::var_os).map(PathBuf::from);
    let mut installed: Vec<PathBuf> = std::fs::read_dir("/usr/local")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda")))
        .collect();
    installed.sort();
    let toolkits = named.chain(installed);
    let mut places: Vec<PathBuf> =
        toolkits.flat_map(|toolkit| IN_TOOLKIT.map(|folder| toolkit.join(folder))).collect();
    for folder in python_path() {
        places.extend(IN_PACKAGES.map(|package| folder.join(package)));
    }
    places
}

/// Where Python finds its packages; none without Python.
fn python_path() -> Vec<PathBuf> {
    let Ok(told) = tempfile::NamedTempFile::new() else { return Vec::new() };
    let Ok(file) = told.reopen() else { return Vec::new() };
    let mut python = Command::new("python3");
    python.args(["-c", "import sys; print('\\n'.join(sys.path))"]).stdout(file).stderr(Stdio::null());
    match limited::run(&mut python, PYTHON) {
        Ok(Some(status)) if status.success() => {}
        _ => return Vec::new(),
    }
    let text = std::fs::read_to_string(told.path()).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Those that have the library.
pub(crate) fn with_library(places: &[PathBuf]) -> Vec<PathBuf> {
    let has = |place: &&PathBuf| NAMES.iter().any(|name| place.join(name).is_file());
    places.iter().filter(has).cloned().collect()
}

/// What the dynamic linker is told: what it was, and these folders.
pub(crate) fn search_path(before: Option<OsString>, more: &[PathBuf]) -> Option<OsString> {
    let before = before.filter(|path| !path.is_empty());
    let known = before.iter().flat_map(std::env::split_paths).collect::<Vec<PathBuf>>();
    std::env::join_paths(known.iter().map(PathBuf::as_path).chain(more.iter().map(PathBuf::as_path))).ok()
}

/// As text, for the findings.
pub(crate) fn names(places: &[PathBuf]) -> Vec<String> {
    places.iter().map(|place: &PathBuf| Path::display(place).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_the_library_are_added_behind_those_that_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["cu12", "cu13"].map(|name| folder.path().join(name));
        for (place, file) in [(&old, "libcublasLt.so.12"), (&new, "libcublasLt.so.13")] {
            std::fs::create_dir(place).unwrap();
            std::fs::write(place.join(file), "").unwrap();
        }
        let found = with_library(&[old, folder.path().join("missing"), new.clone()]);
        assert_eq!(found, std::slice::from_ref(&new));
        let path = search_path(Some("/a:/b".into()), &found).unwrap();
        assert_eq!(path.to_string_lossy(), format!("/a:/b:{}", new.display()));
        assert_eq!(search_path(Some("".into()), &found).unwrap(), new.into_os_string());
    }
}
