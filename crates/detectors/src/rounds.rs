//! Work that is known as a whole from the start, asked about in rounds.

use crate::tally::never_started;
use crate::{DetectorOptions, Next};
use groundline_types::{Outcome, Report, Score, Work};

/// A method's run on one check: items of work by their number, from 0 on.
pub(crate) trait Numbered {
    /// How many items there are.
    fn count(&self) -> usize;

    /// The item with a number below the count.
    fn work(&self, number: usize) -> Work;

    /// Takes the outcome of an item. Each is given once, in the order of their numbers; `None` never came.
    fn take(&mut self, number: usize, outcome: Option<&Outcome<Score>>);

    /// What was found, after the last outcome. How many items there were is filled in by who asks.
    fn report(&mut self) -> Report;
}

/// A run and how far it is.
#[derive(Debug)]
pub(crate) struct Rounds<R> {
    method: &'static str,
    chunk: usize,
    run: Option<R>,
    asked: usize,
    answered: usize,
}

impl<R: Numbered> Rounds<R> {
    /// Rounds of the size that the options say, of nothing yet.
    pub(crate) fn new(method: &'static str, options: &DetectorOptions) -> Self {
        Self { method, chunk: options.pairs_per_round.max(1), run: None, asked: 0, answered: 0 }
    }

    /// The first round of a run, in place of any earlier one.
    pub(crate) fn start(&mut self, run: R) -> Next {
        (self.run, self.asked, self.answered) = (Some(run), 0, 0);
        self.next()
    }

    /// Items of the run in all.
    pub(crate) fn planned_items(&self) -> usize {
        self.run.as_ref().map_or(0, R::count)
    }

    /// Gives the outcomes to the run, and asks for the next round.
    pub(crate) fn resume(&mut self, outcomes: &[Outcome<Score>]) -> Next {
        if let Some(run) = &mut self.run {
            for (at, number) in (self.answered..self.asked).enumerate() {
                run.take(number, outcomes.get(at));
            }
            self.answered = self.asked;
        }
        self.next()
    }

    fn next(&mut self) -> Next {
        let Some(run) = &mut self.run else { return Next::Done(never_started(self.method)) };
        let start = self.asked;
        self.asked = (start + self.chunk).min(run.count());
        if start == self.asked {
            return Next::Done(Report { work_items: self.asked, ..run.report() });
        }
        Next::Work((start..self.asked).map(|number| run.work(number)).collect())
    }
}
