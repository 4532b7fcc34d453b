//! What operators may run who may only read.
//!
//! Their rights are those of their login, and the transaction is read-only. Beyond that, statements are
//! refused that would end the transaction or leave a trace in the session.

/// Words with which a statement that reads may begin.
const READS: [&str; 7] = [
    "select", "with", "values", "table", "explain", "show", "fetch",
];

/// Why a statement is refused; `None` if it is not. Comments before it are skipped.
pub(super) fn refusal(sql: &str) -> Option<String> {
    let code = skip_blanks(sql).trim_start_matches('(');
    let word: String = skip_blanks(code)
        .chars()
        .take_while(|c| c.is_ascii_alphabetic())
        .collect();
    let word = word.to_ascii_lowercase();
    if READS.contains(&&*word) {
        return None;
    }
    let shown = if word.is_empty() { "this" } else { &word };
    Some(format!(
        "{shown} is not for a role that only reads: statements begin with {}",
        READS[..6].join(", ")
    ))
}

/// Space and comments, nested ones too.
fn skip_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if let Some(comment) = text.strip_prefix("--") {
            text = comment.find('\n').map_or("", |end| &comment[end..]);
        } else if text.starts_with("/*") {
            text = after_block_comment(text);
        } else {
            return text;
        }
    }
}

fn after_block_comment(text: &str) -> &str {
    let mut depth = 0_usize;
    let mut rest = text;
    loop {
        if let Some(tail) = rest.strip_prefix("/*") {
            depth += 1;
            rest = tail;
        } else if let Some(tail) = rest.strip_prefix("*/") {
            depth -= 1;
            rest = tail;
            if depth == 0 {
                return rest;
            }
        } else {
            let mut chars = rest.chars();
            if chars.next().is_none() {
                return rest;
            }
            rest = chars.as_str();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_is_allowed() {
        for sql in [
            "select 1",
            "-- why\n SELECT 1",
            "/* a /* b */ c */ with x as (select 1) table x",
            "(select 1) union (select 2)",
            "explain select 1",
            "show all",
        ] {
            assert_eq!(refusal(sql), None, "{sql}");
        }
    }

    #[test]
    fn everything_else_is_not() {
        for sql in [
            "commit",
            "/* select */ rollback",
            "-- select\nset role postgres",
            "reset role",
            "do $$ begin end $$",
            "begin read write",
            "discard all",
            "selection",
            "/* select 1",
            "",
        ] {
            assert!(refusal(sql).is_some(), "{sql}");
        }
    }
}
