//! Which cookie names belong to a key (C2).

/// Whether a cookie holds the value of a key, or a chunk of it: `<key>`, `<key>.0`, `<key>.1`, ….
///
/// Indices are decimal without leading zeros; `<key>.01` and `<key>-code-verifier` do not match.
pub fn is_chunk_like(name: &str, key: &str) -> bool {
    piece_of(name, key).is_some()
}

/// Position of a cookie in the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// `<key>`: all of it.
    Whole,
    /// `<key>.<index>`. Overflowing indices are `usize::MAX`.
    Chunk(usize),
}

pub(crate) fn piece_of(name: &str, key: &str) -> Option<Piece> {
    let rest = name.strip_prefix(key)?;
    if rest.is_empty() {
        return Some(Piece::Whole);
    }
    let digits = rest.strip_prefix('.')?;
    let is_canonical = !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (digits == "0" || !digits.starts_with('0'));
    is_canonical.then(|| Piece::Chunk(digits.parse().unwrap_or(usize::MAX)))
}

/// The name of a chunk.
pub(crate) fn chunk_name(key: &str, index: usize) -> String {
    format!("{key}.{index}")
}

/// Whether a text is a valid cookie name: the token characters of RFC 6265, and colons and square brackets,
/// which the default key of an IPv6 address has (S4) and which browsers accept.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:[]".contains(&byte);
    !name.is_empty() && name.bytes().all(is_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_cookie_is_read_from_its_name() {
        assert_eq!(piece_of("k", "k"), Some(Piece::Whole));
        assert_eq!(piece_of("k.0", "k"), Some(Piece::Chunk(0)));
        assert_eq!(piece_of("k.10", "k"), Some(Piece::Chunk(10)));
        for name in [
            "k.",
            "k.01",
            "k.x",
            "k.-1",
            "k.1e3",
            "k.0.1",
            "k0",
            "xk",
            "k-code-verifier",
        ] {
            assert_eq!(piece_of(name, "k"), None, "{name}");
        }
    }

    #[test]
    fn an_index_beyond_counting_is_still_a_chunk() {
        let name = format!("k.{}", "9".repeat(40));
        assert_eq!(piece_of(&name, "k"), Some(Piece::Chunk(usize::MAX)));
    }

    #[test]
    fn names_are_tokens() {
        for name in ["sb-abc-auth-token", "__Host-session", "sb-[::1]-auth-token"] {
            assert!(is_valid_name(name), "{name}");
        }
        for name in [
            "", "a b", "a;b", "a=b", "a,b", "a\r\nb", "é", "a\"b", "a/b", "(a)",
        ] {
            assert!(!is_valid_name(name), "{name}");
        }
    }
}
