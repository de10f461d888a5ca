//! The one way to standard output or a file.

use groundline_types::{Code, Problem};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Where results go. Every error is seen: a full disk ends the run with [`Code::UNWRITABLE_OUTPUT`].
pub(crate) struct Sink {
    writer: Box<dyn Write + Send>,
    name: String,
}

/// Why nothing more can be written.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// The reader has gone, as with `| head`. Nobody needs to be told.
    Closed,
    /// Something a person should know.
    Failed(Problem),
}

impl Sink {
    /// Standard output.
    pub(crate) fn stdout() -> Self {
        Self::new("standard output", Box::new(io::stdout()))
    }

    /// A file, made anew.
    pub(crate) fn file(path: &Path) -> Result<Self, WriteError> {
        let name = super::one_line(&path.display().to_string());
        match File::create(path) {
            Ok(file) => Ok(Self::new(&name, Box::new(file))),
            Err(error) => Err(unwritable(&name, &error)),
        }
    }

    pub(super) fn new(name: &str, writer: Box<dyn Write + Send>) -> Self {
        Self { writer, name: name.to_owned() }
    }

    /// Writes `text` and flushes it: what is printed is complete, whatever happens next.
    pub(crate) fn write(&mut self, text: &str) -> Result<(), WriteError> {
        let written = self.writer.write_all(text.as_bytes()).and_then(|()| self.writer.flush());
        written.map_err(|error| unwritable(&self.name, &error))
    }
}

fn unwritable(name: &str, error: &io::Error) -> WriteError {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return WriteError::Closed;
    }
    let message = format!("cannot write to {name}: {}", crate::failure::io_reason(error));
    WriteError::Failed(Problem::new(Code::UNWRITABLE_OUTPUT, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_an_error_with_a_code() {
        let mut sink = Sink::new("standard output", Box::new(Broken(io::ErrorKind::StorageFull)));
        let Err(WriteError::Failed(problem)) = sink.write("result\n") else { panic!("the write succeeded") };
        assert_eq!(problem.code, Code::UNWRITABLE_OUTPUT);
        assert!(problem.message.starts_with("cannot write to standard output: "), "{}", problem.message);
    }

    #[test]
    fn a_reader_that_left_is_not_an_error_for_people() {
        let mut sink = Sink::new("standard output", Box::new(Broken(io::ErrorKind::BrokenPipe)));
        assert!(matches!(sink.write("result\n"), Err(WriteError::Closed)));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_full_device_is_noticed_at_once() {
        let mut sink = Sink::file(Path::new("/dev/full")).unwrap();
        assert!(matches!(sink.write("x"), Err(WriteError::Failed(_))));
    }
}
