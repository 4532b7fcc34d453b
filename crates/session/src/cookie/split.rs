//! Splits a value into chunks that browsers accept (C8, C9).

use super::name::chunk_name;
use super::percent;

/// How long the percent-encoded value of one cookie may be (K7).
pub const CHUNK_LENGTH: usize = 3180;

/// The cookies that hold a value: one called `key`, or `key.0`, `key.1`, … when it is too long.
///
/// Values are unencoded. No chunk ends inside a character, so each can be decoded alone.
pub fn split(key: &str, value: &str) -> Vec<(String, String)> {
    let encoded = percent::encode(value);
    if encoded.len() <= CHUNK_LENGTH {
        return vec![(key.to_owned(), value.to_owned())];
    }
    let mut chunks = Vec::with_capacity(encoded.len() / CHUNK_LENGTH + 1);
    let mut rest: &str = &encoded;
    while !rest.is_empty() {
        let (piece, text) = next_piece(rest);
        chunks.push((chunk_name(key, chunks.len()), text));
        rest = &rest[piece..];
    }
    chunks
}

/// The length of the next encoded chunk, and its decoded text.
fn next_piece(encoded: &str) -> (usize, String) {
    let mut end = encoded.len().min(CHUNK_LENGTH);
    // An escape sequence is not split.
    if end < encoded.len()
        && let Some(escape) = encoded[..end].rfind('%')
        && escape > end - 3
    {
        end = escape;
    }
    // Neither is a multi-byte character, which has up to four.
    loop {
        if let Some(text) = percent::decode(&encoded[..end]) {
            return (end, text.into_owned());
        }
        end -= 3;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(value: &str) -> Vec<usize> {
        let chunks = split("k", value);
        chunks
            .iter()
            .map(|(_, text)| percent::encode(text).len())
            .collect()
    }

    #[test]
    fn a_value_of_the_limit_stays_whole() {
        assert_eq!(split("k", &"x".repeat(3180))[0].0, "k");
        assert_eq!(lengths(&"x".repeat(3180)), [3180]);
        assert_eq!(lengths(&"x".repeat(3181)), [3180, 1]);
        assert_eq!(split("k", "")[0], ("k".to_owned(), String::new()));
    }

    #[test]
    fn an_escape_is_never_cut() {
        // The escape's last character would be one, two or three beyond the limit.
        assert_eq!(
            lengths(&format!("{}\"{}", "x".repeat(3177), "y")),
            [3180, 1]
        );
        assert_eq!(
            lengths(&format!("{}\"{}", "x".repeat(3178), "y")),
            [3178, 4]
        );
        assert_eq!(
            lengths(&format!("{}\"{}", "x".repeat(3179), "y")),
            [3179, 4]
        );
    }

    #[test]
    fn a_character_is_never_cut() {
        for fits in 3169..=3180 {
            let value = format!("{}🦀{}", "x".repeat(fits), "y".repeat(20));
            assert_eq!(lengths(&value)[0], fits);
        }
        let value = format!("{}🦀y", "x".repeat(3168));
        assert_eq!(lengths(&value), [3180, 1]);
    }

    proptest! {
        #[test]
        fn pieces_are_short_and_make_the_whole(
            value in proptest::string::string_regex("([a-z]{0,400}[\"%é你🦀]{0,900}){0,4}").unwrap(),
        ) {
            let chunks = split("k", &value);
            let joined: String = chunks.iter().map(|(_, text)| text.as_str()).collect();
            prop_assert_eq!(&joined, &value);
            for (index, (name, text)) in chunks.iter().enumerate() {
                prop_assert!(percent::encode(text).len() <= CHUNK_LENGTH);
                let expected = if chunks.len() == 1 { "k".to_owned() } else { chunk_name("k", index) };
                prop_assert_eq!(name, &expected);
            }
        }
    }
}
