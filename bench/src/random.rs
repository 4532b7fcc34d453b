//! Random ids at no cost: nothing here needs to be unpredictable.

/// Marsaglia's xorshift with 64 bits.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Neighbouring seeds should begin far apart, and zero would stay zero.
        Self((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// `most` itself included.
    pub(crate) fn between_one_and(&mut self, most: i32) -> i32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let range = u64::from(most.unsigned_abs());
        i32::try_from((self.0 >> 16) % range + 1).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_in_range_reach_both_ends_and_differ_by_seed() {
        let mut random = Random::new(0);
        let ids: Vec<i32> = (0..1000).map(|_| random.between_one_and(10)).collect();
        assert_eq!((ids.iter().min(), ids.iter().max()), (Some(&1), Some(&10)));

        let (mut one, mut other) = (Random::new(1), Random::new(2));
        let draw = |random: &mut Random| [(); 8].map(|()| random.between_one_and(100_000));
        assert_ne!(draw(&mut one), draw(&mut other));
    }
}
