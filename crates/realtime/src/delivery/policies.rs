//! Whom the policies of a table can tell apart (§14.2).

use plinth_db::{DbError, Queries};

const POLICIES: &str = include_str!("policies.sql");

/// What policies look at besides the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClaimsUse {
    /// Nothing: all of a role see the same.
    Nothing,
    /// Whose token it is.
    Subject,
    /// Anything.
    Everything,
}

/// What a table's policies look at. When in doubt, everything.
pub(super) async fn claims_use(db: &mut impl Queries, table: u32) -> Result<ClaimsUse, DbError> {
    let rows = db.query(POLICIES, &[&table]).await?;
    let mut most = ClaimsUse::Nothing;
    for row in &rows {
        let condition: Option<&str> = row.try_get("condition")?;
        let reaches_further: bool = row.try_get("reaches_further")?;
        let used = match reaches_further {
            true => ClaimsUse::Everything,
            false => of_condition(condition.unwrap_or_default()),
        };
        most = most.max(used);
    }
    Ok(most)
}

/// Functions of the system that look at nothing but their arguments.
const HARMLESS: [&str; 6] = ["coalesce", "nullif", "lower", "upper", "greatest", "least"];

/// How the usual way to call it once per statement comes back.
const ONCE: &str = "( SELECT auth.uid() AS uid)";

/// By the calls in its text. What it selects from elsewhere may look at anything.
fn of_condition(condition: &str) -> ClaimsUse {
    let condition = condition.replace(ONCE, "auth.uid()");
    if condition.contains("SELECT") {
        return ClaimsUse::Everything;
    }
    let mut used = ClaimsUse::Nothing;
    for name in called(&condition) {
        used = used.max(match name {
            "auth.uid" => ClaimsUse::Subject,
            name if HARMLESS.iter().any(|own| own.eq_ignore_ascii_case(name)) => ClaimsUse::Nothing,
            _ => ClaimsUse::Everything,
        });
    }
    used
}

/// The names before an opening parenthesis. What stands in quotes may look like one, and then more
/// seems to be used than is.
fn called(condition: &str) -> impl Iterator<Item = &str> {
    condition.match_indices('(').filter_map(|(place, _)| {
        let before = &condition[..place];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '"');
        let start = before.rfind(|c| !is_name(c)).map_or(0, |place| {
            place + before[place..].chars().next().map_or(1, char::len_utf8)
        });
        Some(&before[start..]).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(condition: &str, expected: ClaimsUse) {
        assert_eq!(of_condition(condition), expected, "{condition}");
    }

    #[test]
    fn what_a_condition_calls_is_what_it_looks_at() {
        use ClaimsUse::*;
        check("true", Nothing);
        check("(is_public AND (n > 3))", Nothing);
        check("(kind = ANY (ARRAY['a'::text, 'b'::text]))", Nothing);
        check("(COALESCE(kind, ''::text) = 'x'::text)", Nothing);
        check("(owner = auth.uid())", Subject);
        check("(owner = ( SELECT auth.uid() AS uid))", Subject);
        check(
            "(is_public OR (lower(name) = 'x'::text) OR (owner = auth.uid()))",
            Subject,
        );
        check(
            "(role = (current_setting('request.jwt.claims'::text))::text)",
            Everything,
        );
        check("(now() > until)", Everything);
        check("(\"my fn\"(owner))", Everything);
        check("(owner = uid())", Everything);
        check("(name = 'f(x)'::text)", Everything);
        check("(EXISTS ( SELECT 1\n   FROM pg_settings))", Everything);
    }
}
