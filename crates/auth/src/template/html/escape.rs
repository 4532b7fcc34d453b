//! Escaping, by the context that a value is written in.

use std::fmt::Write as _;

use super::UNSAFE_VALUE;

/// For text and quoted attributes.
pub(in super::super) fn escape(value: &str) -> String {
    let mut safe = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&#34;"),
            '\'' => safe.push_str("&#39;"),
            '\0' => safe.push('\u{FFFD}'),
            c => safe.push(c),
        }
    }
    safe
}

/// For attributes that the template's author did not quote.
pub(super) fn unquoted(value: &str) -> String {
    let mut safe = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\0' => safe.push('\u{FFFD}'),
            c if c.is_whitespace() || "&<>\"'=`+".contains(c) => {
                _ = write!(safe, "&#{};", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// For the inside of a tag, where only a name may come.
pub(super) fn name(value: &str) -> String {
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric());
    if is_name {
        value.to_ascii_lowercase()
    } else {
        UNSAFE_VALUE.to_owned()
    }
}

/// For style sheets: words, numbers, colours.
pub(super) fn css(value: &str) -> String {
    let is_plain = value
        .chars()
        .all(|c| c.is_alphanumeric() || " #%.,-_!".contains(c));
    if is_plain {
        value.to_owned()
    } else {
        UNSAFE_VALUE.to_owned()
    }
}

/// For scripts: inside of a string literal, with nothing that could end it.
pub(in super::super) fn script_text(value: &str) -> String {
    let mut safe = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            c if c.is_alphanumeric() || " .,_:@".contains(c) => safe.push(c),
            c => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    _ = write!(safe, "\\u{unit:04X}");
                }
            }
        }
    }
    safe
}

/// A whole URL, or its part before the query: reserved characters stay.
pub(super) fn url(value: &str) -> String {
    percent(value, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&*+,;=%".contains(&byte)
    })
}

/// One value in a query.
pub(super) fn query(value: &str) -> String {
    percent(value, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
    })
}

fn percent(value: &str, stays: impl Fn(u8) -> bool) -> String {
    let mut safe = String::with_capacity(value.len());
    for byte in value.bytes() {
        if stays(byte) {
            safe.push(char::from(byte));
        } else {
            _ = write!(safe, "%{byte:02x}");
        }
    }
    safe
}
