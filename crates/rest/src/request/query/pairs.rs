//! `key=value` pairs of query strings and forms (rest contract §1.2).

use std::borrow::Cow;

/// Percent-decoded bytes, which need not be UTF-8.
pub(in crate::request) type Decoded<'a> = Cow<'a, [u8]>;

/// The pairs in order; the value is `None` without `=`.
pub(in crate::request) fn pairs(
    text: &[u8],
) -> impl Iterator<Item = (Decoded<'_>, Option<Decoded<'_>>)> {
    let is_nothing = text.is_empty();
    // A trailing separator adds no pair, but two separators in a row do.
    let text = match text {
        [head @ .., b'&' | b';'] => head,
        _ => text,
    };
    text.split(|byte| matches!(byte, b'&' | b';'))
        .filter(move |_| !is_nothing)
        .map(|pair| match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (
                decode(&pair[..at], true),
                Some(decode(&pair[at + 1..], true)),
            ),
            None => (decode(pair, true), None),
        })
}

/// Decodes `%XX` and, in forms, `+`. Invalid escapes stay as they are.
pub(in crate::request) fn decode(text: &[u8], plus_is_space: bool) -> Decoded<'_> {
    let is_special = |byte: &u8| *byte == b'%' || (plus_is_space && *byte == b'+');
    let Some(first) = text.iter().position(is_special) else {
        return Cow::Borrowed(text);
    };
    let mut decoded = Vec::with_capacity(text.len());
    decoded.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    loop {
        let (byte, tail) = match rest {
            [] => return Cow::Owned(decoded),
            [b'+', tail @ ..] if plus_is_space => (b' ', tail),
            [b'%', tail @ ..] => escaped_byte(tail).unwrap_or((b'%', tail)),
            [byte, tail @ ..] => (*byte, tail),
        };
        decoded.push(byte);
        rest = tail;
    }
}

/// The byte of two hexadecimal digits, and the rest.
fn escaped_byte(text: &[u8]) -> Option<(u8, &[u8])> {
    let [high, low, tail @ ..] = text else {
        return None;
    };
    Some((hex_byte(*high, *low)?, tail))
}

fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    Some(digit(high)? * 16 + digit(low)?)
}

/// `None` if it is not UTF-8.
pub(in crate::request) fn into_text(decoded: Decoded<'_>) -> Option<Cow<'_, str>> {
    match decoded {
        Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_decoded(text: &str, plus_is_space: bool, expected: &str) {
        let decoded = decode(text.as_bytes(), plus_is_space);
        assert_eq!(decoded, expected.as_bytes(), "{text}");
    }

    #[test]
    fn escapes_are_resolved_and_what_only_looks_like_one_stays() {
        check_decoded("plain", true, "plain");
        check_decoded("a+b%20c", true, "a b c");
        check_decoded("a+b", false, "a+b");
        check_decoded("%2B%2b", true, "++");
        check_decoded("%plan%", true, "%plan%");
        check_decoded("100%", true, "100%");
        check_decoded("%4", true, "%4");
        check_decoded("%%41", true, "%A");
        check_decoded("%C3%A9", true, "é");
    }

    fn check_pairs(query: &str, expected: &[(&str, Option<&str>)]) {
        let text = |bytes| into_text(bytes).expect("UTF-8").into_owned();
        let found: Vec<(String, Option<String>)> = pairs(query.as_bytes())
            .map(|(key, value)| (text(key), value.map(text)))
            .collect();
        let found: Vec<_> = found.iter().map(|(k, v)| (&k[..], v.as_deref())).collect();
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn pairs_end_at_ampersands_and_semicolons() {
        check_pairs("", &[]);
        check_pairs("a=1", &[("a", Some("1"))]);
        check_pairs(
            "a=1&b=2;c=3",
            &[("a", Some("1")), ("b", Some("2")), ("c", Some("3"))],
        );
        check_pairs("&", &[("", None)]);
        check_pairs("a=1&", &[("a", Some("1"))]);
        check_pairs("a=1&&b", &[("a", Some("1")), ("", None), ("b", None)]);
        check_pairs("a==b", &[("a", Some("=b"))]);
        check_pairs("a=", &[("a", Some(""))]);
        check_pairs("%61%3D=%26", &[("a=", Some("&"))]);
    }
}
