//! Numbers that follow from a seed.

/// A sequence of numbers that follows from its seed alone: SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct Dice {
    state: u64,
}

impl Dice {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `sides - 1`; 0 where there are no sides.
    pub fn roll(&mut self, sides: u64) -> u64 {
        let next = self.next_u64();
        next.checked_rem(sides).unwrap_or(0)
    }

    /// Whether something of a chance of `percent` happens.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
}
