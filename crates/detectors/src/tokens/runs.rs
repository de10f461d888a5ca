//! The response as the model reads it: whole, or in runs of whole sentences.

use crate::learned::CLAIM_PART;
use groundline_types::{Claim, CountTokens, PreparedCheck, TokenScore};
use std::ops::Range;
use std::sync::Arc;

/// Consecutive sentences of the response that are labelled together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextRun {
    /// Their texts, joined with single spaces.
    pub(super) text: Arc<str>,
    pub(super) members: Vec<Member>,
}

/// A sentence of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    /// Index of its claim.
    pub(super) claim: usize,
    /// Where it stands in the run's text.
    pub(super) range: Range<usize>,
}

/// The claims in runs that each fill at most half of `room`, and the tokens of the longest run.
///
/// Claims that are refused are left out. Sentences that are not checked are part of the response and stay in. One that alone fills more
/// than half is a run of its own where it is to be checked, does not count as the longest, and is left out where it is not: long
/// code, say.
pub(super) fn text_runs(
    check: &PreparedCheck,
    counter: &dyn CountTokens,
    room: usize,
) -> (Vec<TextRun>, usize) {
    let claims = &check.claims;
    let most = room / CLAIM_PART;
    let (mut groups, mut group, mut sum) = (Vec::new(), Vec::new(), 0);
    let is_read = |(_, claim): &(usize, &Claim)| !check.refused.contains_key(&claim.text);
    for (index, claim) in claims.iter().enumerate().filter(is_read) {
        let tokens = counter.count_tokens(&claim.text);
        if sum + tokens > most && !group.is_empty() {
            groups.push(std::mem::take(&mut group));
            sum = 0;
        }
        if tokens <= most || claim.kind.is_checkable() {
            group.push(index);
            sum += tokens;
        }
    }
    groups.push(group);
    let (mut texts, mut longest) = (Vec::new(), 0);
    // A stack, the first group on top: one that is too long as a whole is taken again in halves.
    groups.reverse();
    while let Some(group) = groups.pop() {
        let Some(text) = joined(claims, &group) else { continue };
        let tokens = counter.count_tokens(&text.text);
        if tokens > most && group.len() > 1 {
            // Joined sentences can have more tokens than the sum of theirs: some tokenizers read a word after a space otherwise.
            let (front, back) = group.split_at(group.len() / 2);
            groups.extend([back.to_vec(), front.to_vec()]);
            continue;
        }
        if tokens <= most {
            longest = longest.max(tokens);
        }
        texts.push(text);
    }
    (texts, longest)
}

fn joined(claims: &[Claim], group: &[usize]) -> Option<TextRun> {
    let (mut text, mut members) = (String::new(), Vec::new());
    for claim in group {
        if !text.is_empty() {
            text.push(' ');
        }
        let start = text.len();
        text.push_str(&claims[*claim].text);
        members.push(Member { claim: *claim, range: start..text.len() });
    }
    (!members.is_empty()).then(|| TextRun { text: text.into(), members })
}

/// The part of a sentence that a token of its run stands for, without white space at its edges; `None` where nothing is left.
///
/// A token that is a part of a character, as byte-level tokenizers make of emoji and CJK, stands for the whole of it.
pub(super) fn part_of(text: &str, member: &Member, token: &TokenScore) -> Option<Range<usize>> {
    // Places come from a worker: none is taken to lie in the text.
    let (mut start, mut end) =
        ((token.start as usize).min(text.len()), (token.end as usize).min(member.range.end));
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    let part = text.get(start..end)?;
    let trimmed = part.trim_start();
    let first = start + (part.len() - trimmed.len()) - member.range.start;
    let length = trimmed.trim_end().len();
    (length > 0).then_some(first..first + length)
}
