//! Files mapped into memory.

use groundline_types::{Code, Problem};
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Maps `path` into memory, read only. The file takes no memory of its own beyond the pages in use.
pub(crate) fn map_file(path: &Path) -> Result<Arc<Mmap>, Problem> {
    let unreadable = |error: std::io::Error| unreadable(path, &error);
    let file = File::open(path).map_err(unreadable)?;
    // SAFETY: the map is read only, and its bytes are only ever read as plain numbers, which any bytes are. What remains is a
    // file cut short by another process while it is mapped: that ends this process with a signal, and never gives a wrong
    // result. Model folders are therefore replaced by renaming and never edited in place.
    let map = unsafe { Mmap::map(&file) }.map_err(unreadable)?;
    Ok(Arc::new(map))
}

/// Reads `path`; `None` where there is no such file.
pub(crate) fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Problem> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Problem {
    Problem::new(
        Code::UNREADABLE_FILE,
        format!("cannot read {}: {error}; check that it is a file and its permissions", path.display()),
    )
}
