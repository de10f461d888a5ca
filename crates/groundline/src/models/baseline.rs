//! The similarity of unrelated sentences, measured with a model on a text of the user's.

use super::find_model;
use super::texts::{name_of, read_text};
use crate::{Config, load_model};
use groundline_claims::split_source;
use groundline_detectors::selfcheck::words::tokens;
use groundline_inference::{DeviceChoice, Encoded, Engine, Model, SimilarityBaseline};
use groundline_types::{Code, Problem, Work};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A sentence is drawn where it has more tokens; `selfcheck_bertscore` leaves the others out too.
const SHORT_TOKENS: usize = 3;
/// Sentences that so many pairs in a row are drawn from: the model remembers them, and reads each once.
const BLOCK_SENTENCES: usize = 256;
const BLOCK_PAIRS: usize = 1024;
/// Draws of a second sentence until one is of another passage.
const MOST_DRAWS: usize = 64;

/// How a baseline is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BaselineOptions {
    /// Pairs of sentences, at least 1 (default 10000).
    pub pairs: usize,
    /// What the draw begins with (default 1): the same one draws the same pairs.
    pub seed: u64,
}

impl Default for BaselineOptions {
    fn default() -> Self {
        Self { pairs: 10_000, seed: 1 }
    }
}

/// A baseline that was measured and written.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredBaseline {
    /// The model's folder, where it lies.
    pub folder: PathBuf,
    /// The model's name.
    pub model: String,
    /// What it is.
    pub baseline: SimilarityBaseline,
    /// Pairs left out because a sentence is longer than the model reads.
    pub too_long: usize,
}

/// Measures, on pairs of sentences of different passages in the file `texts`, the similarity that unrelated sentences have with the
/// model that `config` names, and writes it beside the model. The processor computes. Blocks, for about as long as the model takes
/// to read a quarter as many sentences as there are pairs.
///
/// A file that ends in `.jsonl` has a passage on each line as a JSON string, or as an object's `text`; any other has one on each line
/// as it is. Empty lines are left out, and a sentence that comes again counts once.
///
/// # Errors
/// As [`load_model`]; [`Code::UNREADABLE_FILE`], [`Code::INVALID_UTF8`] and [`Code::MALFORMED_JSON`] about the file;
/// [`Code::INVALID_FIELD`] where it has sentences of fewer than two passages, or no pair could be read;
/// [`Code::UNWRITABLE_OUTPUT`].
pub fn measure_baseline(
    config: &Config,
    texts: &Path,
    options: BaselineOptions,
) -> Result<MeasuredBaseline, Problem> {
    let passages = read_passages(texts)?;
    let sentences = sentences_of(&passages);
    let folder = find_model(config)?;
    let mut config = config.clone();
    config.engine.device = DeviceChoice::Cpu;
    let model = load_model(&config)?;
    let pairs = draw(&sentences, options)?;
    let Mean { sum, count, too_long } = mean_f1(&model, &pairs)?;
    if count == 0 {
        let message = "no pair could be read: every sentence is longer than the model reads at once";
        return Err(Problem::new(Code::INVALID_FIELD, message));
    }
    let baseline = SimilarityBaseline {
        revision: model.facts().id.revision.clone(),
        f1: sum / count as f64,
        pairs: count,
        sentences: sentences.len(),
        seed: options.seed,
        text: name_of(texts),
    };
    baseline.write(&folder)?;
    Ok(MeasuredBaseline { folder, model: model.facts().id.name.clone(), baseline, too_long })
}

fn read_passages(path: &Path) -> Result<Vec<String>, Problem> {
    let shown = path.display();
    let text = read_text(path)?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    if path.extension().is_none_or(|extension| extension != "jsonl") {
        return Ok(lines.map(|(_, line)| line.to_owned()).collect());
    }
    let passage = |(number, line): (usize, &str)| {
        let value = serde_json::from_str::<serde_json::Value>(line).ok();
        let text = value.as_ref().and_then(|value| value.as_str().or_else(|| value.get("text")?.as_str()));
        text.map(str::to_owned).ok_or_else(|| {
            let message =
                format!("line {} of {shown} is no JSON string and no object with a `text`", number + 1);
            Problem::new(Code::MALFORMED_JSON, message)
        })
    };
    lines.map(passage).collect()
}

/// A sentence and the place of its passage.
type Sentence = (Arc<str>, usize);

/// The different sentences that say something.
fn sentences_of(passages: &[String]) -> Vec<Sentence> {
    let mut known = HashSet::new();
    let of_passage = |(place, passage): (usize, &String)| {
        let sentences = split_source(passage).into_iter().map(|sentence| sentence.text);
        sentences.map(move |text| (text, place)).collect::<Vec<_>>()
    };
    let all = passages.iter().enumerate().flat_map(of_passage);
    let says_something = |(text, _): &Sentence| tokens(text).nth(SHORT_TOKENS).is_some();
    all.filter(says_something).filter(|(text, _)| known.insert(Arc::clone(text))).collect()
}

/// Pairs of sentences of different passages.
fn draw(sentences: &[Sentence], options: BaselineOptions) -> Result<Vec<Work>, Problem> {
    let mut random = Random(options.seed);
    let first = sentences.first().map(|(_, passage)| *passage);
    if sentences.iter().all(|(_, passage)| Some(*passage) == first) {
        let message = "unrelated sentences are drawn from different lines, and the file has sentences on fewer than two";
        return Err(Problem::new(Code::INVALID_FIELD, message));
    }
    let mut block = Vec::new();
    let mut pair = |number: usize| {
        if number.is_multiple_of(BLOCK_PAIRS) {
            block = (0..BLOCK_SENTENCES).map(|_| &sentences[random.below(sentences.len())]).collect();
        }
        let (candidate, passage) = block[random.below(block.len())];
        let mut others = (0..MOST_DRAWS).map(|_| block[random.below(block.len())]);
        let (reference, _) = others.find(|(_, other)| other != passage)?;
        Some(Work::Similarity { candidate: Arc::clone(candidate), reference: Arc::clone(reference) })
    };
    Ok((0..options.pairs.max(1)).filter_map(&mut pair).collect())
}

#[derive(Debug, Default)]
struct Mean {
    sum: f64,
    count: usize,
    too_long: usize,
}

fn mean_f1(model: &Model, pairs: &[Work]) -> Result<Mean, Problem> {
    let (mut mean, mut batch, mut tokens) = (Mean::default(), Vec::new(), 0);
    for work in pairs {
        match model.encode(work) {
            Ok(item) => {
                tokens += item.ids.len();
                batch.push(item);
            }
            Err(problem) if problem.code == Code::TEXT_TOO_LONG => mean.too_long += 1,
            Err(problem) => return Err(problem),
        }
        if tokens >= model.batch_tokens() {
            mean.add(model, &batch)?;
            batch.clear();
            tokens = 0;
        }
    }
    mean.add(model, &batch)?;
    Ok(mean)
}

impl Mean {
    fn add(&mut self, model: &Model, batch: &[Encoded]) -> Result<(), Problem> {
        for score in model.run(batch) {
            let other = || Problem::new(Code::INTERNAL, "the engine answered with another kind of score");
            self.sum += score?.similarity().ok_or_else(other)?.f1();
            self.count += 1;
        }
        Ok(())
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The remainder favours small numbers by less than `end` in 2^64.
        ((mixed ^ (mixed >> 31)) % end.max(1) as u64) as usize
    }
}

#[cfg(test)]
mod tests;
