//! JSON with comments and trailing commas.

use serde_json::Value;

pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&plain(text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// The same as plain JSON. Line numbers stay the same, so that error messages are right.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // The position of a comma that only whitespace has followed so far.
    let mut last_comma = None;
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '"' => {
                last_comma = None;
                out.push('"');
                while let Some(inner) = rest.next() {
                    out.push(inner);
                    match inner {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            '/' if rest.peek() == Some(&'/') => {
                while rest.next_if(|next| *next != '\n').is_some() {}
            }
            '/' if rest.peek() == Some(&'*') => {
                rest.next();
                let mut before = ' ';
                for inner in rest.by_ref() {
                    if inner == '\n' {
                        out.push('\n');
                    }
                    if before == '*' && inner == '/' {
                        break;
                    }
                    before = inner;
                }
            }
            '}' | ']' => {
                if let Some(at) = last_comma.take() {
                    out.replace_range(at..=at, " ");
                }
                out.push(character);
            }
            ',' => {
                last_comma = Some(out.len());
                out.push(',');
            }
            other => {
                if !other.is_whitespace() {
                    last_comma = None;
                }
                out.push(other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_ignored() {
        let text = "\u{feff}{ // one\n \"a\": \"// no, /* no */ \\\" ,]\", /* two\n , */ \"b\": [1, 2, /* x */ ],\n}";

        let expected = json!({ "a": "// no, /* no */ \" ,]", "b": [1, 2] });
        assert_eq!(parse(text).unwrap(), expected);
    }

    #[test]
    fn other_syntax_errors_remain() {
        for text in ["", "{", "{\"a\" 1}", "[1,,]", "\"open", "/* open"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
