//! Pieces of SQL whose names are quoted already.

/// The last part of a qualified name.
pub(crate) fn last_part(qualified: &str) -> &str {
    let mut is_quoted = false;
    let mut start = 0;
    for (at, c) in qualified.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '.' if !is_quoted => start = at + 1,
            _ => {}
        }
    }
    &qualified[start..]
}

/// What stands before ` is '…'` in `comment on … is '…';`.
pub(crate) fn comment_target(sql: &str) -> &str {
    split_outside_quotes(sql, " is ").map_or(sql, |(target, _)| target)
}

/// The text before and after the first `needle` that is in no quoted identifier.
pub(crate) fn split_outside_quotes<'a>(sql: &'a str, needle: &str) -> Option<(&'a str, &'a str)> {
    let mut is_quoted = false;
    for (at, c) in sql.char_indices() {
        if c == '"' {
            is_quoted = !is_quoted;
        } else if !is_quoted && let Some(rest) = sql[at..].strip_prefix(needle) {
            return Some((&sql[..at], rest));
        }
    }
    None
}

/// The identifier that a text begins with.
pub(crate) fn first_identifier(sql: &str) -> &str {
    let mut is_quoted = false;
    for (at, c) in sql.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            c if !is_quoted && !(c.is_alphanumeric() || c == '_' || c == '$') => return &sql[..at],
            _ => {}
        }
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_part_follows_the_last_dot_outside_quotes() {
        for (name, expected) in [("a.b", "b"), ("\"a.b\".\"c.d\"", "\"c.d\""), ("a", "a")] {
            assert_eq!(last_part(name), expected);
        }
    }

    #[test]
    fn the_first_identifier_may_contain_quotes() {
        for (text, expected) in [("a_1 check", "a_1"), ("\"a \"\" b\" x", "\"a \"\" b\"")] {
            assert_eq!(first_identifier(text), expected);
        }
    }

    #[test]
    fn a_comment_ends_where_its_text_begins() {
        let sql = "comment on column public.\"a is 'b\".c is 'x is ''y''';";
        assert_eq!(
            comment_target(sql),
            "comment on column public.\"a is 'b\".c"
        );
    }
}
