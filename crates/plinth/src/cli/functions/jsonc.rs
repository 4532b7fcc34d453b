//! JSON with comments and trailing commas, as in `deno.json`.

use serde_json::Value;

/// Removes comments and trailing commas, then parses JSON.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&to_json(text.trim_start_matches('\u{feff}')))
}

fn to_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => {
                out.push(c);
                while let Some(inner) = rest.next() {
                    out.push(inner);
                    match inner {
                        '\\' => out.extend(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ('}' | ']', _) => {
                let end = out.trim_end().len();
                if out[..end].ends_with(',') {
                    out.truncate(end - 1);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_removed() {
        let text =
            "\u{feff}{ // one\n \"a\": [1, 2, /* , */ ], \"b\": \"// \\\" no, */ comment\",\n}";
        let expected = json!({ "a": [1, 2], "b": "// \" no, */ comment" });
        assert_eq!(parse(text).expect("JSON"), expected);
    }

    #[test]
    fn invalid_json_is_rejected() {
        for text in ["", "{", "\"", "/*", "{,}x", "// only"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
