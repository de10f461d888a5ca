//! Which sequences are computed together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Attention's share of a token's work grows with the sequence: it equals the rest at about this many tokens.
const ATTENTION_BALANCE_TOKENS: usize = 1024;

/// Splits sequences of the given lengths into groups, most work first.
///
/// A group holds about `group_tokens` tokens (weights pass through the cache once for all of them), or fewer where there
/// are too few tokens for all threads. Groups are made equal in work, so that threads end together: longest sequence
/// first into the group with the least work (Graham's LPT rule).
pub(super) fn groups(lengths: &[usize], threads: usize, group_tokens: usize) -> Vec<Vec<usize>> {
    if lengths.is_empty() {
        return Vec::new();
    }
    let tokens: usize = lengths.iter().sum();
    let wanted = tokens.div_ceil(group_tokens.max(1)).max(1).next_multiple_of(threads.max(1));
    let count = wanted.min(lengths.len());
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| Reverse(lengths[index]));
    let mut groups = vec![Vec::new(); count];
    let mut least: BinaryHeap<Reverse<(usize, usize)>> =
        (0..count).map(|group| Reverse((0, group))).collect();
    for index in order {
        if let Some(Reverse((work, group))) = least.pop() {
            groups[group].push(index);
            least.push(Reverse((work + sequence_work(lengths[index]), group)));
        }
    }
    groups.sort_by_key(|group| {
        Reverse(group.iter().map(|&index| sequence_work(lengths[index])).sum::<usize>())
    });
    groups
}

fn sequence_work(length: usize) -> usize {
    length * (ATTENTION_BALANCE_TOKENS + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(groups: &[Vec<usize>], lengths: &[usize]) -> Vec<usize> {
        groups.iter().map(|group| group.iter().map(|&index| lengths[index]).sum()).collect()
    }

    #[test]
    fn every_sequence_is_in_one_group() {
        let lengths: Vec<usize> = (0..200).map(|i| 1 + (i * 37) % 96).collect();
        for (threads, budget) in [(1, 512), (2, 512), (3, 1), (64, 512), (7, 100_000)] {
            let mut all: Vec<usize> = groups(&lengths, threads, budget).concat();
            all.sort_unstable();
            assert_eq!(all, (0..200).collect::<Vec<_>>());
        }
    }

    #[test]
    fn groups_are_of_about_equal_work_and_near_the_budget() {
        let lengths: Vec<usize> = (0..400).map(|i| 16 + (i * 37) % 80).collect();
        let sizes = tokens(&groups(&lengths, 2, 512), &lengths);
        assert!(sizes.len().is_multiple_of(2));
        assert!(sizes.iter().all(|&size| (350..=600).contains(&size)), "{sizes:?}");
    }

    #[test]
    fn few_tokens_are_still_spread_over_all_threads() {
        assert_eq!(groups(&[60, 60, 60, 60], 4, 512).len(), 4);
        assert_eq!(groups(&[60], 4, 512).len(), 1);
        assert!(groups(&[], 4, 512).is_empty());
    }

    #[test]
    fn the_longest_sequence_comes_first() {
        let lengths = [10, 500, 20, 30];
        assert_eq!(groups(&lengths, 2, 512)[0], [1]);
    }
}
