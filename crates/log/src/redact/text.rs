//! Finds secrets in free text.
//!
//! Each finder reports byte ranges; they are masked together at the end, so finders may overlap and are
//! independent of each other.

use std::{borrow::Cow, ops::Range};

use super::{
    MASK,
    name::{is_secret_name, is_secret_parameter},
};

/// Headers whose whole value is masked when they are quoted in a text as `Name: value`.
const HEADERS: [&str; 6] = [
    "authorization",
    "proxy-authorization",
    "apikey",
    "x-api-key",
    "cookie",
    "set-cookie",
];
/// How our own keys, personal access tokens and hook secrets begin.
const TOKEN_PREFIXES: [&str; 3] = ["sb_secret_", "sbp_", "whsec_"];

/// Kinds of hints, as bits.
const PAIR: u8 = 1;
const TOKEN: u8 = 2;
const SPACE: u8 = 4;
const COLON: u8 = 8;

/// The hint that each byte gives.
const HINTS: [u8; 256] = {
    let mut hints = [0; 256];
    hints[b'=' as usize] = PAIR;
    hints[b':' as usize] = PAIR | COLON;
    hints[b'_' as usize] = TOKEN;
    hints[b'J' as usize] = TOKEN;
    hints[b' ' as usize] = SPACE;
    hints
};

/// Masks everything in `text` that looks like a secret.
pub fn redact_text(text: &str) -> Cow<'_, str> {
    // Nearly all texts are short and harmless, so each finder runs only if the text has a character
    // that its matches always contain.
    let hints = text
        .bytes()
        .fold(0, |hints, byte| hints | HINTS[usize::from(byte)]);
    let has = |wanted| hints & wanted != 0;
    let mut found = Vec::new();
    if has(PAIR) {
        find_pairs(text, &mut found);
    }
    if has(TOKEN) {
        find_tokens(text, &mut found);
    }
    if has(SPACE) {
        find_after_scheme(text, &mut found);
        find_sql_passwords(text, &mut found);
    }
    if has(COLON) {
        find_url_passwords(text, &mut found);
    }
    mask(text, found)
}

fn mask(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    found.retain(|range| !range.is_empty());
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_by_key(|range| range.start);
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for range in found {
        if range.start >= end {
            masked.push_str(&text[end..range.start]);
            masked.push_str(MASK);
        }
        end = end.max(range.end);
    }
    masked.push_str(&text[end..]);
    Cow::Owned(masked)
}

/// `name=value`, `"name": "value"` and `Header: value`.
fn find_pairs(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, separator) in text.match_indices(['=', ':']) {
        if is_covered(found, at) {
            continue;
        }
        let before = text[..at].trim_end_matches(' ');
        let unquoted = before.strip_suffix(['"', '\'']);
        let is_quoted = unquoted.is_some();
        // The quotes of JSON inside a JSON text are escaped.
        let name_end = unquoted.map_or(before, |name| name.trim_end_matches('\\'));
        let name = &name_end[trailing_start(name_end, is_name_char)..];
        if name.is_empty() {
            continue;
        }
        let context = name_end[..name_end.len() - name.len()].chars().next_back();
        let is_parameter = separator == "=" && matches!(context, Some('?' | '&' | '#'));
        let value = at + 1;

        if separator == ":"
            && HEADERS
                .iter()
                .any(|header| name.eq_ignore_ascii_case(header))
        {
            let end = if is_quoted {
                value_end(text, value)
            } else {
                line_end(text, value)
            };
            found.push(trim_start(text, value..end));
        } else if is_parameter && is_secret_parameter(name) {
            found
                .push(value..value + leading_len(&text[value..], |c| !"&# \t\r\n\"<>".contains(c)));
        } else if (separator == "=" || is_quoted) && is_secret_name(name) {
            found.push(trim_start(text, value..value_end(text, value)));
        }
    }
}

/// Where a value ends that may stand in quotes: at the closing one, else at a space or `;`.
fn value_end(text: &str, start: usize) -> usize {
    let spaces = leading_len(&text[start..], |c| c == ' ');
    let value = &text[start + spaces..];
    let len = match value.chars().next() {
        Some('\\') => escaped_len(value),
        Some(quote @ ('"' | '\'')) => quoted_len(value, quote),
        _ => leading_len(value, |c| !c.is_whitespace() && !";\"'".contains(c)),
    };
    start + spaces + len
}

/// The length of a text between escaped quotes (`\"…\"`), which JSON inside a JSON text has.
fn escaped_len(value: &str) -> usize {
    let quote = &value[..leading_len(value, |c| c == '\\')];
    match value
        .strip_prefix(quote)
        .and_then(|rest| rest.strip_prefix('"'))
    {
        Some(rest) => {
            let closing = format!("{quote}\"");
            let skipped = quote.len() + 1;
            rest.find(&closing)
                .map_or(value.len(), |at| skipped + at + closing.len())
        }
        None => leading_len(value, |c| !c.is_whitespace() && !";\"'".contains(c)),
    }
}

/// The length of a quoted text with both quotes; all of it if the quote never closes. A quote
/// inside may be escaped as in JSON (`\"`) or doubled as in SQL (`''`).
fn quoted_len(value: &str, quote: char) -> usize {
    let mut chars = value.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if char == '\\' {
            chars.next();
        } else if char == quote {
            let is_doubled = quote == '\'' && chars.next_if(|(_, next)| *next == quote).is_some();
            if !is_doubled {
                return at + char.len_utf8();
            }
        }
    }
    value.len()
}

/// Our keys and whatever looks like a JWT, wherever they stand.
fn find_tokens(text: &str, found: &mut Vec<Range<usize>>) {
    for prefix in TOKEN_PREFIXES {
        for (start, _) in text.match_indices(prefix) {
            if is_covered(found, start) || !starts_word(text, start) {
                continue;
            }
            let len = leading_len(&text[start..], is_token_char);
            if len > prefix.len() {
                found.push(start..start + len);
            }
        }
    }
    let mut run_end = 0;
    for (start, _) in text.match_indices("eyJ") {
        if start < run_end {
            continue;
        }
        let len = leading_len(&text[start..], |c| is_token_char(c) || c == '.');
        run_end = start + len;
        let mut parts = text[start..run_end].split('.');
        let has_two_parts = parts.next().is_some() && parts.next().is_some_and(|p| p.len() >= 4);
        if has_two_parts && len >= 20 {
            found.push(start..run_end);
        }
    }
}

/// What follows `Bearer` or `Basic`, as in a header.
fn find_after_scheme(text: &str, found: &mut Vec<Range<usize>>) {
    for scheme in ["bearer ", "basic "] {
        for start in find_ignoring_case(text, scheme) {
            let value = start + scheme.len();
            let len = leading_len(&text[value..], |c| is_token_char(c) || "+/=.~".contains(c));
            // Shorter words are prose: "basic check", "bearer token".
            if starts_word(text, start) && len >= 8 {
                found.push(value..value + len);
            }
        }
    }
}

/// `scheme://user:password@host`.
fn find_url_passwords(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, marker) in text.match_indices("://") {
        let start = at + marker.len();
        let len = leading_len(&text[start..], |c| {
            !c.is_whitespace() && !"/?#\"'<>".contains(c)
        });
        let authority = &text[start..start + len];
        if let Some((user_info, _)) = authority.rsplit_once('@')
            && let Some((user, password)) = user_info.split_once(':')
        {
            let from = start + user.len() + 1;
            found.push(from..from + password.len());
        }
    }
}

/// `PASSWORD 'literal'`, as in the statements that PostgreSQL logs.
fn find_sql_passwords(text: &str, found: &mut Vec<Range<usize>>) {
    const WORD: &str = "password ";
    for start in find_ignoring_case(text, WORD) {
        let value = start + WORD.len();
        let literal = value + leading_len(&text[value..], |c| c == ' ');
        if text[literal..].starts_with('\'') {
            found.push(literal..literal + quoted_len(&text[literal..], '\''));
        }
    }
}

/// Whether the last match reaches beyond `at`: masked text is not scanned again, which keeps the work
/// linear for any input.
fn is_covered(found: &[Range<usize>], at: usize) -> bool {
    found
        .last()
        .is_some_and(|range| range.end > at && range.start <= at)
}

/// Where a word stands that ends in a space, its only one.
fn find_ignoring_case<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    ends.filter_map(move |(at, _)| {
        let start = (at + 1).checked_sub(word.len())?;
        let found = bytes[start..=at].eq_ignore_ascii_case(word.as_bytes());
        found.then_some(start)
    })
}

fn starts_word(text: &str, start: usize) -> bool {
    !text[..start]
        .chars()
        .next_back()
        .is_some_and(char::is_alphanumeric)
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.' | '%' | '[' | ']' | '+')
}

fn is_token_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}

/// How many bytes at the front consist of such characters.
fn leading_len(text: &str, is_wanted: impl Fn(char) -> bool) -> usize {
    text.find(|char| !is_wanted(char)).unwrap_or(text.len())
}

/// Where the run of such characters at the end begins.
fn trailing_start(text: &str, is_wanted: impl Fn(char) -> bool) -> usize {
    text.trim_end_matches(is_wanted).len()
}

fn line_end(text: &str, start: usize) -> usize {
    start + leading_len(&text[start..], |c| c != '\n' && c != '\r')
}

fn trim_start(text: &str, range: Range<usize>) -> Range<usize> {
    let spaces = leading_len(&text[range.clone()], |c| c == ' ');
    range.start + spaces..range.end
}

#[cfg(test)]
mod tests {
    use rustix::time::{ClockId, clock_gettime};

    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redact_text(text), expected, "{text}");
    }

    #[test]
    fn parameters_named_like_secrets_are_masked() {
        check(
            "/auth/v1/verify?token=abc&type=signup",
            "/auth/v1/verify?token=***&type=signup",
        );
        check(
            "GET /a?x=1&apikey=k,y;z HTTP/1.1",
            "GET /a?x=1&apikey=*** HTTP/1.1",
        );
        check(
            "https://x.test/cb?code=123#access_token=t&n=1",
            "https://x.test/cb?code=***#access_token=***&n=1",
        );
        check("/o?pass%77ord=hunter2", "/o?pass%77ord=***");
        check("/o?token=ab'cd&n=1", "/o?token=***&n=1");
        check("/o?token=", "/o?token=");
        check(
            "/rest/v1/a?select=id&order=token.desc",
            "/rest/v1/a?select=id&order=token.desc",
        );
    }

    #[test]
    fn passwords_in_urls_and_connection_strings_are_masked() {
        check(
            "postgres://ada:s3:cr@t@db/shop",
            "postgres://ada:***@db/shop",
        );
        check("https://example.com/a:b@c", "https://example.com/a:b@c");
        check(
            "host=db password=hunter2 user=ada",
            "host=db password=*** user=ada",
        );
        check("password='two words' user=ada", "password=*** user=ada");
    }

    #[test]
    fn headers_and_json_in_messages_are_masked() {
        check(
            "sent Authorization: Bearer abc\nnext",
            "sent Authorization: ***\nnext",
        );
        check("Cookie: a=b; c=d", "Cookie: ***");
        check(
            r#"{"password": "a\"b", "name": "Ada"}"#,
            r#"{"password": ***, "name": "Ada"}"#,
        );
        check(
            r#"{\"token\" : \"a b\",\"n\":1}"#,
            r#"{\"token\" : ***,\"n\":1}"#,
        );
        check("password = 'x y' set", "password = *** set");
        check("with bearer abcdef123456 given", "with bearer *** given");
    }

    #[test]
    fn bare_keys_and_jwts_are_masked() {
        let jwt = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl-_x";
        check(&format!("the token {jwt} expired"), "the token *** expired");
        check("key (sb_secret_N7UND0_x-y).", "key (***).");
        check("sbp_0123456789abcdef", "***");
        check("sb_publishable_abc stays", "sb_publishable_abc stays");
    }

    #[test]
    fn statements_lose_their_password_literals() {
        check(
            "ALTER ROLE a PASSWORD 'x y' LOGIN",
            "ALTER ROLE a PASSWORD *** LOGIN",
        );
        check(
            "alter role a password  'never closed",
            "alter role a password  ***",
        );
    }

    #[test]
    fn ordinary_texts_are_returned_untouched() {
        for text in [
            "",
            "invalid password: too short",
            "12:30:00 basic check of the bearer token: fine = true",
            "Key (email)=(ada@example.com) already exists.",
            "größe=1 ключ: да 日本=語",
            "=:=:",
        ] {
            assert!(matches!(redact_text(text), Cow::Borrowed(_)), "{text}");
        }
    }

    #[test]
    fn crafted_texts_take_no_quadratic_time() {
        // A busy machine takes no more of it.
        let processor_time = || clock_gettime(ClockId::ThreadCPUTime).tv_sec;
        let started = processor_time();

        for part in [
            "key=",
            "eyJ",
            "sbp_",
            "x.eyJ",
            "'key':",
            "cookie:",
            "://a:",
            "password '",
        ] {
            redact_text(&part.repeat(1 << 16));
        }

        let seconds = processor_time() - started;
        assert!(seconds < 10, "{seconds} s");
    }

    #[test]
    fn no_mixture_before_a_secret_panics_or_uncovers_it() {
        let fragments = [
            "key",
            "=",
            ":",
            "\"",
            "'",
            "\\",
            " ",
            "é",
            "://",
            "@",
            "?",
            "&",
            "eyJ.aaaa",
            "sbp_",
            "bearer ",
            "password ",
            "%4",
            "\n",
        ];
        for a in fragments {
            for b in fragments {
                for c in fragments {
                    for d in fragments {
                        let text = [a, b, c, d, "日 password=hunter2"].concat();
                        assert!(!redact_text(&text).contains("hunter2"), "{text}");
                    }
                }
            }
        }
    }

    #[test]
    fn masks_do_not_split_characters() {
        check("password=ключ日本 é", "password=*** é");
        check("token='é", "token=***");
    }
}
