//! Wrong codes are counted, so that digits cannot be guessed.

use std::time::Duration;

use moka::sync::Cache;
use uuid::Uuid;

/// So many codes may be tried on one token; the last wrong one makes it void.
const ALLOWED: u32 = 10;

/// Attempts per token. The stored hash is part of the key: a new token starts anew.
pub(crate) struct WrongCodes(Cache<(Uuid, String), u32>);

/// One attempt among others.
pub(super) struct Attempt {
    pub(super) is_allowed: bool,
    pub(super) is_last: bool,
}

impl WrongCodes {
    /// Counts an attempt before anything is compared: many at once get no further than many in a
    /// row.
    pub(super) fn count(&self, user: Uuid, hash: &str) -> Attempt {
        let key = (user, hash.to_owned());
        let entry = self.0.entry(key).and_upsert_with(|entry| {
            let before = entry.map_or(0, |entry| entry.into_value());
            before.saturating_add(1)
        });
        let number = entry.into_value();
        Attempt {
            is_allowed: number <= ALLOWED,
            is_last: number >= ALLOWED,
        }
    }

    pub(super) fn forget(&self, user: Uuid, hash: &str) {
        self.0.invalidate(&(user, hash.to_owned()));
    }
}

impl Default for WrongCodes {
    /// Tokens live for a day at most; so many are never guessed at together.
    fn default() -> Self {
        Self(
            Cache::builder()
                .max_capacity(100_000)
                .time_to_live(Duration::from_secs(24 * 60 * 60))
                .build(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tenth_attempt_is_the_last() {
        let codes = WrongCodes::default();
        let user = Uuid::nil();
        for _ in 0..9 {
            let attempt = codes.count(user, "a");
            assert!(attempt.is_allowed && !attempt.is_last);
        }
        let tenth = codes.count(user, "a");
        assert!(tenth.is_allowed && tenth.is_last);
        assert!(!codes.count(user, "a").is_allowed);
        assert!(codes.count(user, "another token").is_allowed);
    }
}
