//! Where the buffers of a plan lie: those that are not alive at the same time share memory.

/// Every buffer starts at a multiple of this, which suits the kernels (16) and the library of products (256 for its fastest).
pub(super) const ALIGNMENT_BYTES: usize = 256;

/// From its first use to its last, as numbers of steps, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Life {
    pub first: usize,
    pub last: usize,
}

impl Life {
    fn meets(self, other: Life) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Offsets of the buffers, in bytes, and the memory they take together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placement {
    pub offsets: Vec<usize>,
    pub bytes: usize,
}

/// Places buffers of `sizes` bytes that live as `lives` says; one that is never used takes no room. The largest first, each at the lowest place that is
/// free for its whole life: within a few per cent of the best for chains like a forward pass.
pub(super) fn place(sizes: &[usize], lives: &[Option<Life>]) -> Placement {
    let mut order: Vec<usize> = (0..sizes.len()).filter(|&buffer| lives[buffer].is_some()).collect();
    order.sort_by_key(|&buffer| (std::cmp::Reverse(sizes[buffer]), buffer));
    let mut offsets = vec![0; sizes.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut bytes = 0;
    for buffer in order {
        let meets = |other: &usize| lives[buffer].zip(lives[*other]).is_some_and(|(a, b)| a.meets(b));
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|other| meets(other))
            .map(|&other| (offsets[other], offsets[other] + sizes[other]))
            .collect();
        taken.sort_unstable();
        let mut at = 0;
        for (start, end) in taken {
            if at + sizes[buffer] <= start {
                break;
            }
            at = at.max(end.next_multiple_of(ALIGNMENT_BYTES));
        }
        offsets[buffer] = at;
        bytes = bytes.max(at + sizes[buffer]);
        placed.push(buffer);
    }
    Placement { offsets, bytes: bytes.next_multiple_of(ALIGNMENT_BYTES) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn life(first: usize, last: usize) -> Option<Life> {
        Some(Life { first, last })
    }

    #[test]
    fn buffers_that_never_meet_share_their_place_and_others_do_not() {
        let placed = place(&[1000, 1000, 10, 5000], &[life(0, 1), life(2, 3), life(1, 2), None]);
        assert_eq!(placed.offsets[..2], [0, 0]);
        assert_eq!(placed.offsets[2], 1024);
        assert_eq!(placed.bytes, 1280);
    }

    proptest! {
        #[test]
        fn no_two_living_buffers_overlap_and_all_are_aligned(
            buffers in proptest::collection::vec((1_usize..100_000, 0_usize..40, 0_usize..10), 1..40)
        ) {
            let sizes: Vec<usize> = buffers.iter().map(|buffer| buffer.0).collect();
            let lives: Vec<_> = buffers.iter().map(|&(_, first, length)| life(first, first + length)).collect();
            let placed = place(&sizes, &lives);
            let end = |buffer: usize| placed.offsets[buffer] + sizes[buffer];
            for a in 0..sizes.len() {
                prop_assert!(placed.offsets[a].is_multiple_of(ALIGNMENT_BYTES) && end(a) <= placed.bytes);
                for b in 0..a {
                    let apart = end(a) <= placed.offsets[b] || end(b) <= placed.offsets[a];
                    prop_assert!(apart || !lives[a].unwrap().meets(lives[b].unwrap()));
                }
            }
            prop_assert!(placed.bytes <= sizes.iter().map(|size| size.next_multiple_of(ALIGNMENT_BYTES)).sum());
        }
    }
}
