//! Joining the chunks of a value (C11, A30).

use super::header::Cookies;
use super::limits::Limits;
use super::name::{Piece, piece_of};
use super::value;

impl Cookies {
    /// The value that is kept under a key, if it can be read.
    ///
    /// One pass over the cookies, whatever their number, order and indices.
    pub fn item(&self, key: &str, limits: &Limits) -> Option<String> {
        value::decode(self.joined(key, limits)?)
    }

    fn joined(&self, key: &str, limits: &Limits) -> Option<String> {
        let mut chunks: Vec<&str> = vec![""; limits.max_chunks];
        for cookie in self.iter() {
            match piece_of(&cookie.name, key) {
                Some(Piece::Whole) if !cookie.value.is_empty() => {
                    let fits = cookie.value.len() <= limits.max_value_bytes;
                    return fits.then(|| cookie.value.clone());
                }
                Some(Piece::Chunk(index)) if index < chunks.len() => chunks[index] = &cookie.value,
                _ => {}
            }
        }
        // An empty chunk ends the sequence just like a missing one.
        let present = chunks.iter().take_while(|chunk| !chunk.is_empty());
        let bytes: usize = present.clone().map(|chunk| chunk.len()).sum();
        let fits = (1..=limits.max_value_bytes).contains(&bytes);
        fits.then(|| present.copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cookie::{Encoding, split};

    fn limits() -> Limits {
        Limits::default()
    }

    #[test]
    fn a_chunk_beyond_the_limit_is_not_read() {
        let numbered = |count: usize| -> Cookies {
            (0..count)
                .map(|index| (format!("k.{index}"), "x"))
                .collect()
        };

        assert_eq!(numbered(24).item("k", &limits()), Some("x".repeat(24)));
        assert_eq!(numbered(25).item("k", &limits()), Some("x".repeat(24)));
    }

    #[test]
    fn a_value_beyond_the_limit_is_not_read() {
        let limits = Limits {
            max_value_bytes: 10,
            ..limits()
        };
        let item = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .copied()
                .collect::<Cookies>()
                .item("k", &limits)
        };

        assert_eq!(item(&[("k", "0123456789")]).as_deref(), Some("0123456789"));
        assert_eq!(item(&[("k", "0123456789a")]), None);
        assert_eq!(
            item(&[("k.0", "01234"), ("k.1", "56789")]).as_deref(),
            Some("0123456789")
        );
        assert_eq!(item(&[("k.0", "01234"), ("k.1", "56789a")]), None);
    }

    #[test]
    fn sparse_and_absurd_indices_cost_nothing() {
        let cookies = Cookies::parse("k.0=a; k.999999999=b; k.99999999999999999999999999=c");
        assert_eq!(cookies.item("k", &limits()).as_deref(), Some("a"));
    }

    #[test]
    fn no_key_holds_anothers_value() {
        let cookies = Cookies::parse("k-user=a; k-code-verifier=b; kk=c");
        assert_eq!(cookies.item("k", &limits()), None);
    }

    proptest! {
        #[test]
        fn what_is_split_is_joined_in_any_order(
            text in "[a-z\"é你🦀]{0,3000}",
            seed in any::<u64>(),
            raw in any::<bool>(),
        ) {
            let item = serde_json::Value::from(text).to_string();
            let encoding = if raw { Encoding::Raw } else { Encoding::Base64Url };
            let mut chunks = split("k", &encoding.encode(&item));
            let middle = usize::try_from(seed % chunks.len() as u64).unwrap();
            chunks.rotate_left(middle);

            let cookies: Cookies = chunks.into_iter().collect();

            prop_assert_eq!(cookies.item("k", &limits()), Some(item));
        }

        #[test]
        fn any_cookies_may_be_joined(
            names in proptest::collection::vec("k(\\.[0-9]{0,21})?", 0..60),
            value in "(base64-)?[A-Za-z0-9_\\-*%]{0,20}",
        ) {
            let cookies: Cookies = names.into_iter().map(|name| (name, value.clone())).collect();
            _ = cookies.item("k", &limits());
        }
    }
}
