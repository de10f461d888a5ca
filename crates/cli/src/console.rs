//! Standard error: errors, estimates and the progress bar, which must not write over each other.

use crate::failure::{Failure, render_problem};
use crate::output::{Palette, Sink, WriteError};
use anstream::AutoStream;
use groundline::ColorMode;
use groundline_types::Problem;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};

/// How often the bar is drawn at most.
const DRAWS_PER_SECOND: u8 = 5;

/// Standard error with the progress bar on it.
#[derive(Debug)]
pub(crate) struct Console {
    palette: Palette,
    quiet: bool,
    terminal: bool,
    bar: Option<ProgressBar>,
}

/// Whether to colour what goes to a stream.
pub(crate) fn colored<S: anstream::stream::RawStream>(mode: ColorMode, stream: &S) -> bool {
    match mode {
        ColorMode::Always => true,
        ColorMode::Never => false,
        // Looks at NO_COLOR, CLICOLOR, TERM and whether it is a terminal.
        ColorMode::Auto => AutoStream::choice(stream) != anstream::ColorChoice::Never,
    }
}

impl Console {
    /// Standard error, as the options ask for it.
    pub(crate) fn new(mode: ColorMode, quiet: bool) -> Self {
        let stderr = std::io::stderr();
        let palette = Palette { colored: colored(mode, &stderr) };
        Self { palette, quiet, terminal: stderr.is_terminal(), bar: None }
    }

    /// Tells the reader something that is not an error; not with `--quiet`.
    pub(crate) fn tell(&self, text: &str) {
        if !self.quiet {
            self.print(&format!("{}\n", self.palette.dim(text)));
        }
    }

    /// Reports an error of one response.
    pub(crate) fn report(&self, problem: &Problem, place: Option<&str>) {
        self.print(&render_problem(problem, place, self.palette));
    }

    /// Reports why the command ends.
    pub(crate) fn fail(&self, failure: &Failure) {
        self.print(&failure.render(self.palette));
    }

    /// A failed write to standard error can be told to nobody.
    fn print(&self, text: &str) {
        let write = || {
            let mut stderr = std::io::stderr().lock();
            let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Writes results with the bar out of the way.
    pub(crate) fn write(&self, sink: &mut Sink, text: &str) -> Result<(), WriteError> {
        match &self.bar {
            Some(bar) => bar.suspend(|| sink.write(text)),
            None => sink.write(text),
        }
    }

    /// Draws the bar: `done` of `total`, with a message beside it; where `total` is 0, the message alone. Nothing where
    /// nobody sees it.
    pub(crate) fn draw(&mut self, done: u64, total: u64, message: String) {
        if self.quiet || !self.terminal {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| new_bar(total > 0));
        bar.set_length(total.max(1));
        bar.set_position(done.min(total));
        bar.set_message(message);
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(total_known: bool) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(DRAWS_PER_SECOND));
    let template = if total_known { "{bar:24} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style.progress_chars("━╸─")),
        Err(_) => bar,
    }
}
