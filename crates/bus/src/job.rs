//! What travels.

use crate::SubjectToken;
use groundline_types::{Head, Lane, Outcome, Score, Work};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

/// Most items of one job. A job is a group: fewer messages, without tying the shape of batches to the wire.
pub const MAX_JOB_ITEMS: usize = 64;
/// Estimated tokens at which a job is closed even with fewer items; where workers are slow, coordinators close it earlier.
pub const TARGET_JOB_TOKENS: usize = 8192;
/// Largest job in bytes, as counted by [`Job::size_bytes`].
pub const MAX_JOB_BYTES: usize = 512 << 10;
/// What a job is counted for its ids, lane and tenant.
const JOB_HEADER_BYTES: usize = 256;
/// What an item is counted besides its texts.
const ITEM_HEADER_BYTES: usize = 16;

/// One life of one coordinator process. Answers are addressed to it, so that no other life ever reads them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Incarnation(u64);

impl Incarnation {
    /// A new one, random.
    pub fn random() -> Self {
        // The standard library seeds its hash maps from the operating system and changes the seed at each call.
        Self(RandomState::new().hash_one("incarnation"))
    }

    #[cfg(feature = "nats")]
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    #[cfg(feature = "nats")]
    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Names one job for good, over all its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// Who asks, and where the answer goes.
    pub reply_to: Incarnation,
    /// Which of its checks.
    pub check: u64,
    /// Which job of that check.
    pub serial: u32,
}

impl JobId {
    /// The check that the job belongs to.
    pub fn check_id(&self) -> CheckId {
        CheckId { reply_to: self.reply_to, check: self.check }
    }
}

/// Names one check for good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId {
    /// Whose check it is.
    pub reply_to: Incarnation,
    /// Which of its checks.
    pub check: u64,
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.reply_to, self.check, self.serial)
    }
}

/// Which queue a job waits in: workers serve one model, and pull its lanes apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId {
    /// Revision of the model that must answer.
    pub model: SubjectToken,
    /// Priority.
    pub lane: Lane,
}

/// Up to [`MAX_JOB_ITEMS`] pieces of work of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// Its name.
    pub id: JobId,
    /// How often its publisher has sent it before, from 0. `<id>:<attempt>` is what duplicates of a job that is done are known
    /// by; while the job is stored, every attempt is a duplicate.
    pub attempt: u32,
    /// Where it waits.
    pub lane: LaneId,
    /// Whose it is.
    pub tenant: SubjectToken,
    /// How long its answer is of use, counted from its publication: a duration, because clocks of two machines differ.
    pub time_left: Duration,
    /// What its items cost, estimated by its publisher.
    pub estimated_tokens: usize,
    /// W3C `traceparent` of the check's span, so that a worker can link its batch to it. `None` without tracing.
    pub trace: Option<Arc<str>>,
    /// The work.
    pub texts: JobTexts,
}

/// Work with every text held once: a claim meets many pieces of evidence, so either side repeats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobTexts {
    texts: Vec<Arc<str>>,
    items: Vec<JobItem>,
}

/// One piece of work as indices into the job's texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobItem {
    /// Score a pair.
    Pair {
        /// Index of the evidence.
        premise: u16,
        /// Index of the claim.
        hypothesis: u16,
        /// Which head answers.
        head: Head,
    },
    /// Embed a text.
    Embed {
        /// Index of the text.
        text: u16,
    },
    /// Match the tokens of two texts.
    Similarity {
        /// Index of the candidate.
        candidate: u16,
        /// Index of the reference.
        reference: u16,
    },
    /// Label every token of a text.
    Tokens {
        /// Index of the evidence.
        context: u16,
        /// Index of the text.
        text: u16,
        /// Which head answers.
        head: Head,
    },
}

impl JobTexts {
    /// Interns `work`, in order. Texts are compared by identity, which is what sharing an [`Arc`] gives; equal texts in two
    /// allocations are carried twice, which costs bytes and nothing else.
    ///
    /// `work` holds at most [`MAX_JOB_ITEMS`] items.
    pub fn intern<'a>(work: impl IntoIterator<Item = &'a Work>) -> Self {
        let mut this = Self::default();
        for work in work {
            let item = match work {
                Work::Pair { premise, hypothesis, head } => JobItem::Pair {
                    premise: this.index_of(premise),
                    hypothesis: this.index_of(hypothesis),
                    head: *head,
                },
                Work::Embed { text } => JobItem::Embed { text: this.index_of(text) },
                Work::Similarity { candidate, reference } => JobItem::Similarity {
                    candidate: this.index_of(candidate),
                    reference: this.index_of(reference),
                },
                Work::Tokens { context, text, head } => JobItem::Tokens {
                    context: this.index_of(context),
                    text: this.index_of(text),
                    head: *head,
                },
            };
            this.items.push(item);
        }
        this
    }

    fn index_of(&mut self, text: &Arc<str>) -> u16 {
        let index = self.texts.iter().position(|known| Arc::ptr_eq(known, text)).unwrap_or_else(|| {
            self.texts.push(Arc::clone(text));
            self.texts.len() - 1
        });
        debug_assert!(index < 2 * MAX_JOB_ITEMS, "a job holds at most {MAX_JOB_ITEMS} items");
        index as u16
    }

    /// Texts and the items that point into them; `None` where there are more than a job holds, or where one points beyond.
    #[cfg(feature = "nats")]
    pub(crate) fn from_parts(texts: Vec<Arc<str>>, items: Vec<JobItem>) -> Option<Self> {
        let is_known = |index: u16| usize::from(index) < texts.len();
        let are_known = items.iter().all(|item| match *item {
            JobItem::Pair { premise, hypothesis, .. } => is_known(premise) && is_known(hypothesis),
            JobItem::Embed { text } => is_known(text),
            JobItem::Similarity { candidate, reference } => is_known(candidate) && is_known(reference),
            JobItem::Tokens { context, text, .. } => is_known(context) && is_known(text),
        });
        let fits = items.len() <= MAX_JOB_ITEMS && texts.len() <= 2 * MAX_JOB_ITEMS;
        (are_known && fits).then_some(Self { texts, items })
    }

    #[cfg(feature = "nats")]
    pub(crate) fn texts(&self) -> &[Arc<str>] {
        &self.texts
    }

    #[cfg(feature = "nats")]
    pub(crate) fn items(&self) -> &[JobItem] {
        &self.items
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items as work, in order.
    pub fn work(&self) -> impl Iterator<Item = Work> + '_ {
        let text = |index: u16| Arc::clone(&self.texts[usize::from(index)]);
        self.items.iter().map(move |item| match *item {
            JobItem::Pair { premise, hypothesis, head } => {
                Work::Pair { premise: text(premise), hypothesis: text(hypothesis), head }
            }
            JobItem::Embed { text: index } => Work::Embed { text: text(index) },
            JobItem::Similarity { candidate, reference } => {
                Work::Similarity { candidate: text(candidate), reference: text(reference) }
            }
            JobItem::Tokens { context, text: labelled, head } => {
                Work::Tokens { context: text(context), text: text(labelled), head }
            }
        })
    }

    /// Bytes of all texts, each counted once.
    pub fn text_bytes(&self) -> usize {
        self.texts.iter().map(|text| text.len()).sum()
    }
}

impl Job {
    /// What the job counts against [`MAX_JOB_BYTES`]; at least what any backend's encoding needs.
    pub fn size_bytes(&self) -> usize {
        JOB_HEADER_BYTES + self.texts.text_bytes() + self.texts.len() * ITEM_HEADER_BYTES
    }
}

/// What a worker makes of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobResult {
    /// The job.
    pub id: JobId,
    /// The attempt that was answered.
    pub attempt: u32,
    /// The answer.
    pub answer: JobAnswer,
}

/// The answer to a job.
#[derive(Debug, Clone, PartialEq)]
pub enum JobAnswer {
    /// One outcome for each item, in order.
    Items(Vec<Outcome<Score>>),
    /// The group was delivered before and not finished; one of its items may kill workers. Its publisher sends each item as a
    /// job of its own.
    Split,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_repeat_are_carried_once_and_come_back_in_order() {
        let (a, b, claim): (Arc<str>, Arc<str>, Arc<str>) = ("first".into(), "second".into(), "claim".into());
        let pair = |premise: &Arc<str>| Work::Pair {
            premise: Arc::clone(premise),
            hypothesis: Arc::clone(&claim),
            head: Head::Nli,
        };
        let work = [pair(&a), pair(&b), pair(&a), Work::Embed { text: Arc::clone(&claim) }];
        let texts = JobTexts::intern(&work);
        assert_eq!(texts.work().collect::<Vec<_>>(), work);
        assert_eq!((texts.len(), texts.text_bytes()), (4, 5 + 6 + 5));
    }

    #[test]
    fn incarnations_differ() {
        assert_ne!(Incarnation::random(), Incarnation::random());
        assert_eq!(Incarnation::random().to_string().len(), 16);
    }
}
