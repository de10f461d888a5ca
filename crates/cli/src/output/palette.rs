//! Colours by meaning.

use anstyle::{AnsiColor, Style};
use groundline_types::Verdict;

/// Colours by meaning, or none at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    /// Whether to colour.
    pub(crate) colored: bool,
}

impl Palette {
    /// `text` in a style; without colour, `text` as it is.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colored && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    /// A name or heading.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint(Style::new().bold(), text)
    }

    /// What is there for completeness.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint(Style::new().dimmed(), text)
    }

    /// Something is wrong.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default().bold(), text)
    }

    /// Something wants attention.
    pub(crate) fn warn(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default(), text)
    }

    /// Something is fine.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    /// The colour of a verdict; none for what has no verdict.
    pub(crate) fn verdict(self, verdict: Option<Verdict>, text: &str) -> String {
        match verdict {
            Some(Verdict::Supported) => self.good(text),
            Some(Verdict::NotMentioned) => self.warn(text),
            Some(Verdict::Contradicted) => self.bad(text),
            None => self.dim(text),
        }
    }
}
