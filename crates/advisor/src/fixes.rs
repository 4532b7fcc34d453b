//! Fixes that need more than putting names into a statement: expressions of policies rewritten.
//!
//! A check hands over what it read of a policy in `metadata.policy`; it does not stay there.

use serde_json::{Map, Value};

/// The fix of a finding, by its check.
pub(crate) fn of(check: &str, metadata: &mut Map<String, Value>) -> Option<String> {
    let policy = metadata.remove("policy")?;
    match check {
        "auth_rls_initplan" => altered(&policy, &in_subselects),
        "rls_references_user_metadata" => altered(&policy, &with_app_metadata),
        _ => None,
    }
}

/// `alter policy` with both expressions rewritten.
fn altered(policy: &Value, rewrite: &dyn Fn(&str) -> String) -> Option<String> {
    let target = policy["target"].as_str()?;
    let clause = |member: &str, words: &str| {
        let expression = policy[member].as_str()?;
        let rewritten = rewrite(expression);
        (rewritten != expression).then(|| format!(" {words} ({rewritten})"))
    };
    let using = clause("using", "using").unwrap_or_default();
    let check = clause("check", "with check").unwrap_or_default();
    if using.is_empty() && check.is_empty() {
        return None;
    }
    Some(format!("alter policy {target}{using}{check};"))
}

/// Functions whose value is the same for all rows of a statement.
const STABLE: &[&str] = &["auth.uid()", "auth.jwt()", "auth.role()", "auth.email()"];

/// Puts calls into sub-selects, which PostgreSQL runs once. Those that are in one stay.
fn in_subselects(expression: &str) -> String {
    let mut text = String::with_capacity(expression.len() + 32);
    let mut rest = expression;
    while let Some(c) = rest.chars().next() {
        if c == '\'' || c == '"' {
            let end = end_of_quoted(rest, c);
            text.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        match call_at(rest, &text) {
            Some(call) => {
                if is_in_subselect(&text) {
                    text.push_str(call);
                } else {
                    text.push_str(&format!("(select {call})"));
                }
                rest = &rest[call.len()..];
            }
            None => {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    text
}

/// The call that a text begins with, unless a longer name ends here.
fn call_at<'a>(rest: &'a str, before: &str) -> Option<&'a str> {
    let continues = before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"'));
    if continues {
        return None;
    }
    let lower = |length: usize| rest.get(..length);
    if let Some(call) = STABLE.iter().find(|call| lower(call.len()) == Some(**call)) {
        return rest.get(..call.len());
    }
    let head = "current_setting(";
    if !rest.starts_with(head) {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = rest[at..].chars().next() {
        match c {
            '\'' | '"' => {
                at += end_of_quoted(&rest[at..], c);
                continue;
            }
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return rest.get(..=at);
                }
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

fn is_in_subselect(before: &str) -> bool {
    let before = before.trim_end().to_ascii_lowercase();
    before.ends_with("select")
}

/// Where a quoted text ends that the given one begins with.
fn end_of_quoted(text: &str, mark: char) -> usize {
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == mark {
            if characters.peek().is_some_and(|&(_, next)| next == mark) {
                characters.next();
            } else {
                return at + c.len_utf8();
            }
        }
    }
    text.len()
}

/// `user_metadata` is what users write themselves; `app_metadata` is not.
fn with_app_metadata(expression: &str) -> String {
    expression
        .replace("raw_user_meta_data", "raw_app_meta_data")
        .replace("user_metadata", "app_metadata")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, expected: &str) {
        assert_eq!(in_subselects(expression), expected);
    }

    #[test]
    fn calls_are_put_into_sub_selects() {
        check("(auth.uid() = owner)", "((select auth.uid()) = owner)");
        check(
            "(( SELECT auth.uid() AS uid) = owner)",
            "(( SELECT auth.uid() AS uid) = owner)",
        );
        check(
            "((auth.jwt() ->> 'a'::text) = current_setting('x.(y)'::text, true))",
            "(((select auth.jwt()) ->> 'a'::text) = (select current_setting('x.(y)'::text, true)))",
        );
    }

    #[test]
    fn what_only_looks_like_a_call_stays() {
        check("(note = 'auth.uid()'::text)", "(note = 'auth.uid()'::text)");
        check("(my_auth.uid() = x)", "(my_auth.uid() = x)");
        check("(\"auth.uid()\" = 'it''s')", "(\"auth.uid()\" = 'it''s')");
    }

    #[test]
    fn any_text_is_rewritten_without_panic() {
        for text in [
            "",
            "'",
            "\"",
            "current_setting(",
            "current_setting('",
            "ä'ü''",
            "(((",
            ")",
        ] {
            _ = in_subselects(text);
        }
    }
}
