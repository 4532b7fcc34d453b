//! JSON with comments and commas too many, as `deno.json` may be written.

use serde_json::Value;

/// Reads the text as JSON once what JSON does not know is taken out.
pub(super) fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&plain(text.trim_start_matches('\u{feff}')))
}

fn plain(text: &str) -> String {
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
    fn comments_and_last_commas_are_taken_out() {
        let text =
            "\u{feff}{ // one\n \"a\": [1, 2, /* , */ ], \"b\": \"// \\\" no, */ comment\",\n}";
        let expected = json!({ "a": [1, 2], "b": "// \" no, */ comment" });
        assert_eq!(parse(text).expect("JSON"), expected);
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "\"", "/*", "{,}x", "// only"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
