//! `.env` files: `NAME=value`, with `export`, quotes over several lines and comments.

use std::collections::BTreeMap;

/// Reads a file's text; the error is the number of the line that cannot be understood.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, usize> {
    let text = text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .replace("\r\n", "\n");
    let lines: Vec<&str> = text.split(['\n', '\r']).collect();
    let mut values = BTreeMap::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index].trim();
        if line.is_empty() || line.starts_with('#') {
            index += 1;
            continue;
        }
        let (name, written) = split_assignment(line).ok_or(index + 1)?;
        let (value, used) = read_value(written, &lines[index + 1..]);
        values.insert(name.to_owned(), value);
        index += 1 + used;
    }
    Ok(values)
}

/// `NAME=…` or `NAME: …`, with or without a leading `export`.
fn split_assignment(line: &str) -> Option<(&str, &str)> {
    let line = match line.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => rest.trim_start(),
        _ => line,
    };
    let is_name_character = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let end = line.find(|c| !is_name_character(c))?;
    let (name, rest) = line.split_at(end);
    if name.is_empty() {
        return None;
    }
    let written = match rest.trim_start().strip_prefix('=') {
        Some(written) => written,
        None => rest
            .strip_prefix(':')
            .filter(|written| written.starts_with([' ', '\t']))?,
    };
    Some((name, written.trim_start()))
}

/// The value, and how many of the following lines belong to it.
fn read_value(written: &str, following: &[&str]) -> (String, usize) {
    let quote = written
        .chars()
        .next()
        .filter(|c| matches!(c, '\'' | '"' | '`'));
    if let Some(quote) = quote {
        let mut text = written[1..].to_owned();
        for used in 0..=following.len() {
            if used > 0 {
                text.push('\n');
                text.push_str(following[used - 1]);
            }
            let Some(end) = closing_quote(&text, quote) else {
                continue;
            };
            let after = text[end + 1..].trim_start();
            if after.is_empty() || after.starts_with('#') {
                return (unescape(&text[..end], quote), used);
            }
            break;
        }
    }
    let plain = written.split('#').next().unwrap_or_default();
    (plain.trim().to_owned(), 0)
}

fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut previous = None;
    for (index, character) in text.char_indices() {
        if character == quote && previous != Some('\\') {
            return Some(index);
        }
        previous = Some(character);
    }
    None
}

/// Only double quotes know escapes, and only those of line breaks.
fn unescape(text: &str, quote: char) -> String {
    match quote {
        '"' => text.replace("\\n", "\n").replace("\\r", "\r"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        let text = "# a comment\n\
                    PLAIN=one two # trailing\n\
                    export EXPORTED = 'single # kept'\n\
                    COLON: yes\n\
                    DOUBLE=\"line\\nbreak\" # trailing\n\
                    EMPTY=\n\
                    ODD=\"a\"b\n\
                    KEY=\"-----BEGIN-----\nabc\n-----END-----\"\n\
                    LAST=`back tick`\r\n";

        let values = parse(text).expect("valid");

        let expected = [
            ("COLON", "yes"),
            ("DOUBLE", "line\nbreak"),
            ("EMPTY", ""),
            ("EXPORTED", "single # kept"),
            ("KEY", "-----BEGIN-----\nabc\n-----END-----"),
            ("LAST", "back tick"),
            ("ODD", "\"a\"b"),
            ("PLAIN", "one two"),
        ];
        let values: Vec<_> = values
            .iter()
            .map(|(k, v)| (k.as_str(), v.as_str()))
            .collect();
        assert_eq!(values, expected);
    }

    #[test]
    fn a_line_without_an_assignment_is_named() {
        assert_eq!(parse("A=1\n\nnonsense\n"), Err(3));
        assert_eq!(parse("=1"), Err(1));
    }

    #[test]
    fn an_unclosed_quote_takes_its_own_line_only() {
        let values = parse("A=\"open\nB=2").expect("valid");

        assert_eq!(values["A"], "\"open");
        assert_eq!(values["B"], "2");
    }
}
