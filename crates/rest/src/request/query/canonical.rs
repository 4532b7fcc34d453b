//! The canonical query string, for `Content-Location` (rest contract §3.7).

use super::pairs::Decoded;

/// Sorts by key and encodes again. Values of a repeated key are joined with commas.
pub(super) fn canonical(pairs: &[(Decoded<'_>, Option<Decoded<'_>>)]) -> String {
    let mut sorted: Vec<(&[u8], &[u8])> = pairs
        .iter()
        .map(|(key, value)| (&key[..], value.as_deref().unwrap_or_default()))
        .collect();
    sorted.sort_by_key(|(key, _)| *key);

    let mut text = String::with_capacity(64);
    let mut previous = None;
    for (key, value) in sorted {
        if previous == Some(key) {
            text.push(',');
        } else {
            if previous.is_some() {
                text.push('&');
            }
            encode(key, &mut text);
            text.push('=');
        }
        encode(value, &mut text);
        previous = Some(key);
    }
    text
}

/// As PostgREST, treats each byte as a character and encodes that as UTF-8, so anything but ASCII
/// is encoded twice.
fn encode(bytes: &[u8], text: &mut String) {
    for &byte in bytes {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            _ => {
                for unit in char::from(byte).encode_utf8(&mut [0; 4]).bytes() {
                    push_escape(unit, text);
                }
            }
        }
    }
}

fn push_escape(byte: u8, text: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.push('%');
    text.push(char::from(DIGITS[usize::from(byte >> 4)]));
    text.push(char::from(DIGITS[usize::from(byte & 15)]));
}

#[cfg(test)]
mod tests {
    use super::{super::pairs::pairs, *};

    fn check(query: &str, expected: &str) {
        let pairs: Vec<_> = pairs(query.as_bytes()).collect();
        assert_eq!(canonical(&pairs), expected, "{query}");
    }

    #[test]
    fn parameters_are_sorted_and_encoded_again() {
        check("", "");
        check("b=eq.1&a=eq.1", "a=eq.1&b=eq.1");
        check("a=1&c=3&b=2&d", "a=1&b=2&c=3&d=");
        check("select=id,name", "select=id%2Cname");
        check("n=eq.a+b", "n=eq.a%20b");
        check("id=gt.1&a=1&id=lt.9", "a=1&id=gt.1,lt.9");
        check("n=eq.%C3%A9", "n=eq.%C3%83%C2%A9");
    }
}
