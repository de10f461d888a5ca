//! Which evidence is nearest to a claim.

use groundline_types::Span;
use std::collections::BTreeSet;

/// What a text shares or does not share with another, as hashes of its names, numbers and words.
///
/// Made once for each text, so that comparing 200 claims with 8,000 sentences takes no string comparisons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextFeatures {
    names: Vec<u64>,
    numbers: Vec<u64>,
    words: Vec<u64>,
}

impl TextFeatures {
    /// Features of a text with these names and numbers in their normal forms; its words are its [`content_words`].
    pub fn new<S: AsRef<str>>(text: &str, names: &[S], numbers: &[S]) -> Self {
        let hashes = |items: &[S]| sorted(items.iter().map(|item| hash(item.as_ref())));
        let words = sorted(content_words(text).map(|(_, word)| hash(&word)));
        Self { names: hashes(names), numbers: hashes(numbers), words }
    }

    /// How many content words the text has, each counted once.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// The share of this text's content words that `other` has too, 0..=1; 0 where it has none.
    pub fn word_share(&self, other: &TextFeatures) -> f32 {
        share(&self.words, &other.words)
    }

    /// The share of this text's names that `other` has too, 0..=1; 0 where it has none.
    pub fn name_share(&self, other: &TextFeatures) -> f32 {
        share(&self.names, &other.names)
    }

    /// The share of this text's numbers that `other` has too, 0..=1; 0 where it has none.
    pub fn number_share(&self, other: &TextFeatures) -> f32 {
        share(&self.numbers, &other.numbers)
    }
}

/// The content words of a text in order, with their places: in lower case, without those of fewer than 3 letters and the commonest
/// English function words. A plural `s` is dropped, so that `prizes` meets `prize`.
pub fn content_words(text: &str) -> impl Iterator<Item = (Span, String)> {
    text.split(|c: char| !c.is_alphanumeric()).filter_map(|word| {
        let mut lower = word.to_lowercase();
        if lower.chars().count() < 3 || FUNCTION_WORDS.binary_search(&lower.as_str()).is_ok() {
            return None;
        }
        lower.truncate(stem(&lower).len());
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        Some((Span::new(start, start + word.len()), lower))
    })
}

/// How much each kind of likeness counts in [`nearness_score`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NearnessWeights {
    /// For the cosine of the embeddings.
    pub cosine: f32,
    /// For the share of the claim's names.
    pub names: f32,
    /// For the share of the claim's numbers.
    pub numbers: f32,
    /// For the share of the claim's content words.
    pub words: f32,
}

impl Default for NearnessWeights {
    /// Embeddings lead; a shared name or number outweighs a paraphrase that lacks it. Words break ties, and carry the ranking
    /// where there is no embedding.
    fn default() -> Self {
        Self { cosine: 1.0, names: 0.25, numbers: 0.25, words: 0.25 }
    }
}

/// One sentence of evidence and how near it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearness {
    /// Position in the list of evidence.
    pub index: usize,
    /// `cosine·cos + names·n + numbers·m + words·w` with the weights' numbers: cos the cosine of the embeddings (0 where one is
    /// missing), n, m and w the shares of the claim's names, numbers and content words that the sentence has too. Finite.
    pub score: f32,
}

/// How near `evidence` is to `claim`: see [`Nearness::score`]. Embeddings are L2-normalised; one that is missing, of another
/// length or not finite counts as cosine 0.
pub fn nearness_score(
    claim: (&TextFeatures, Option<&[f32]>),
    evidence: (&TextFeatures, Option<&[f32]>),
    weights: &NearnessWeights,
) -> f32 {
    let cosine = match (claim.1, evidence.1) {
        (Some(a), Some(b)) => cosine(a, b),
        _ => 0.0,
    };
    weights.cosine * cosine
        + weights.names * claim.0.name_share(evidence.0)
        + weights.numbers * claim.0.number_share(evidence.0)
        + weights.words * claim.0.word_share(evidence.0)
}

/// All evidence by falling nearness to a claim; of equals the earlier one comes first.
pub fn rank(scores: impl IntoIterator<Item = f32>) -> Vec<Nearness> {
    let mut ranked: Vec<Nearness> =
        scores.into_iter().enumerate().map(|(index, score)| Nearness { index, score }).collect();
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    ranked
}

/// The dot product of two L2-normalised vectors, -1..=1; 0 where the lengths differ or it is not finite.
pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
    if a.len() != b.len() {
        return 0.0;
    }
    // Eight independent sums, so that the compiler can use vector registers: a large source takes billions of products.
    let (mut sums, mut dot) = ([0.0_f32; 8], 0.0_f32);
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    for (x, y) in a_chunks.remainder().iter().zip(b_chunks.remainder()) {
        dot += x * y;
    }
    for (xs, ys) in a_chunks.zip(b_chunks) {
        for ((sum, x), y) in sums.iter_mut().zip(xs).zip(ys) {
            *sum += x * y;
        }
    }
    dot += sums.iter().sum::<f32>();
    if dot.is_finite() { dot.clamp(-1.0, 1.0) } else { 0.0 }
}

fn sorted(items: impl Iterator<Item = u64>) -> Vec<u64> {
    items.collect::<BTreeSet<u64>>().into_iter().collect()
}

/// Share of `wanted` that is in `there`; both sorted.
fn share(wanted: &[u64], there: &[u64]) -> f32 {
    if wanted.is_empty() {
        return 0.0;
    }
    let (mut i, mut j, mut common) = (0, 0, 0_usize);
    while let (Some(a), Some(b)) = (wanted.get(i), there.get(j)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
        }
    }
    common as f32 / wanted.len() as f32
}

fn stem(word: &str) -> &str {
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 2 && !stem.ends_with('s') => stem,
        _ => word,
    }
}

/// 64-bit FNV-1a: the same on every machine and in every run.
fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// In the order of the alphabet.
const FUNCTION_WORDS: &[&str] = &[
    "about", "after", "all", "also", "and", "any", "are", "been", "before", "but", "can", "could", "did",
    "does", "for", "from", "had", "has", "have", "her", "him", "his", "how", "into", "its", "may", "more",
    "most", "not", "one", "only", "other", "our", "out", "over", "she", "should", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "under", "was",
    "were", "what", "when", "where", "which", "who", "will", "with", "would", "you", "your",
];

#[cfg(test)]
mod tests;
