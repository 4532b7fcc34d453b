//! The error of a text that cannot be parsed (PGRST100), in PostgREST's wording.

use crate::error::RestError;

use super::expectations::Remaining;

/// `"failed to parse <what> (<shown>)" (line l, column c)`.
///
/// `text` is what was parsed, which for logic trees is more than what is `shown`.
pub(super) fn unparsable(
    what: &str,
    shown: &str,
    text: &str,
    at: Remaining,
    details: String,
) -> RestError {
    let read = text.get(..text.len().saturating_sub(at)).unwrap_or(text);
    let (line, column) = line_and_column(read);
    RestError::Unparsable {
        message: format!("\"failed to parse {what} ({shown})\" (line {line}, column {column})"),
        details,
    }
}

/// The position after `read`; tabs advance to the next multiple of eight.
fn line_and_column(read: &str) -> (usize, usize) {
    read.chars()
        .fold((1, 1), |(line, column), char| match char {
            '\n' => (line + 1, 1),
            '\t' => (line, column + 8 - (column - 1) % 8),
            _ => (line, column + 1),
        })
}

/// `"x"`, as Haskell shows a string.
pub(super) fn render_string(text: &str) -> String {
    let mut shown = String::from('"');
    for char in text.chars() {
        match char {
            '"' => shown.push_str("\\\""),
            _ => push_escaped(&mut shown, char),
        }
    }
    shown.push('"');
    shown
}

/// `'x'`, as Haskell shows a character.
pub(super) fn render_char(char: char) -> String {
    let mut shown = String::from('\'');
    match char {
        '\'' => shown.push_str("\\'"),
        _ => push_escaped(&mut shown, char),
    }
    shown.push('\'');
    shown
}

fn push_escaped(shown: &mut String, char: char) {
    const CONTROLS: [&str; 32] = [
        "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO",
        "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC",
        "FS", "GS", "RS", "US",
    ];
    match char {
        '\\' => shown.push_str("\\\\"),
        '\u{7f}' => shown.push_str("\\DEL"),
        ' '..='~' => shown.push(char),
        _ => {
            shown.push('\\');
            match CONTROLS.get(char as usize) {
                Some(name) => shown.push_str(name),
                None => shown.push_str(&u32::from(char).to_string()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_know_tabs_and_lines() {
        let check = |read, expected| assert_eq!(line_and_column(read), expected, "{read:?}");
        check("", (1, 1));
        check("id.", (1, 4));
        check("été", (1, 4));
        check("\t", (1, 9));
        check("ab\tc", (1, 10));
        check("a\nb", (2, 2));
    }

    #[test]
    fn characters_are_shown_as_haskell_shows_them() {
        let check = |text, expected| assert_eq!(render_string(text), expected);
        check("a", r#""a""#);
        check("\"", r#""\"""#);
        check("'", r#""'""#);
        check("\\", r#""\\""#);
        check("é", r#""\233""#);
        check("\n", r#""\n""#);
        check("\u{1}", r#""\SOH""#);
        check("\u{7f}", r#""\DEL""#);
        assert_eq!(render_char('\''), r"'\''");
        assert_eq!(render_char('"'), "'\"'");
        assert_eq!(render_char('💥'), r"'\128165'");
    }
}
