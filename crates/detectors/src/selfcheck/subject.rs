//! Which samples speak about a sentence's subject.
//!
//! Our own addition. An answer may tell of a person's youth where another tells of the prizes: both may be right, and the published
//! numbers punish the breadth. So each method also gives a number over those samples alone that speak of the same thing.
//!
//! A sample speaks about a sentence's subject where
//!
//! * it has a word of the name that the sentence begins with, if any sample has one: the sentence's grammatical subject, and
//! * it has at least a third of the sentence's **topic words** that any sample has at all: content words outside names and numbers,
//!   such as "married" in "She married Paul Adams in 1990". Names and numbers are what the sentence claims of its topic. Samples
//!   that say otherwise would be left out if they counted.
//!
//! Where no sample has a topic word of the sentence, none speaks about it; where the sentence has no topic word, the name decides.

use groundline_claims::find_names;
use groundline_evidence::content_words;
use groundline_types::PreparedSource;
use std::collections::BTreeSet;

use super::sampled::{Sampled, sentences};

/// Of the topic words that stand in any sample, the share that a sample must have: one in so many.
const ONE_IN: usize = 3;

/// The content words of each sample.
#[derive(Debug)]
pub(crate) struct Subjects {
    samples: Vec<BTreeSet<String>>,
}

impl Subjects {
    pub(crate) fn new(samples: &[PreparedSource], distinct: &[Sampled]) -> Self {
        let words = |sampled: &Sampled| {
            let texts = samples.get(sampled.index).into_iter().flat_map(sentences);
            texts.flat_map(|text| content_words(text).map(|(_, word)| word)).collect()
        };
        Self { samples: distinct.iter().map(words).collect() }
    }

    /// For each distinct sample, whether it speaks about what `claim` is about.
    pub(crate) fn speaking(&self, claim: &str) -> Vec<bool> {
        let names = find_names(claim);
        let in_name =
            |start: usize| names.iter().position(|name| (name.span.start..name.span.end).contains(&start));
        let leads = |at: usize| {
            // Articles and numbers may stand before it, as in "In 1990 the Curies", no other word.
            let mut before = content_words(&claim[..names[0].span.start]);
            at == 0 && before.all(|(_, word)| word.chars().all(char::is_numeric))
        };
        let (mut topic, mut subject) = (BTreeSet::new(), BTreeSet::new());
        for (span, word) in content_words(claim) {
            match in_name(span.start) {
                Some(at) if leads(at) => {
                    subject.insert(word);
                }
                None if !word.chars().any(char::is_numeric) => {
                    topic.insert(word);
                }
                Some(_) | None => {}
            }
        }
        let anywhere = |word: &String| self.samples.iter().any(|words| words.contains(word));
        let subject: Vec<&String> = subject.iter().filter(|word| anywhere(word)).collect();
        let common: Vec<&String> = topic.iter().filter(|word| anywhere(word)).collect();
        if common.is_empty() && !topic.is_empty() {
            return vec![false; self.samples.len()];
        }
        let speaks = |words: &BTreeSet<String>| {
            let named = subject.is_empty() || subject.iter().any(|word| words.contains(*word));
            let shared = common.iter().filter(|word| words.contains(**word)).count();
            named && shared * ONE_IN >= common.len()
        };
        self.samples.iter().map(speaks).collect()
    }
}

#[cfg(test)]
mod tests;
