//! Which subscribers the policies of a table distinguish (§14.2).

use plinth_db::{DbError, Queries};

const POLICIES: &str = include_str!("policies.sql");

/// What policies depend on besides the role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ClaimsUse {
    /// All callers of a role see the same rows.
    Nothing,
    /// The claim `sub`.
    Subject,
    /// Any claim.
    Everything,
}

/// What a table's policies depend on. When in doubt, everything.
pub(super) async fn claims_use(db: &mut impl Queries, table: u32) -> Result<ClaimsUse, DbError> {
    let rows = db.query(POLICIES, &[&table]).await?;
    let mut most = ClaimsUse::Nothing;
    for row in &rows {
        let condition: Option<&str> = row.try_get("condition")?;
        let has_other_dependencies: bool = row.try_get("has_other_dependencies")?;
        let used = if has_other_dependencies {
            ClaimsUse::Everything
        } else {
            used_by_condition(condition.unwrap_or_default())
        };
        most = most.max(used);
    }
    Ok(most)
}

/// Built-in functions that depend on nothing but their arguments.
const PURE_FUNCTIONS: [&str; 6] = ["coalesce", "nullif", "lower", "upper", "greatest", "least"];

/// The text form of `(select auth.uid())`, the usual way to call it once per statement.
const UID_SUBQUERY: &str = "( SELECT auth.uid() AS uid)";

/// Decides by the functions that the text calls. A subquery may depend on anything.
fn used_by_condition(condition: &str) -> ClaimsUse {
    let condition = condition.replace(UID_SUBQUERY, "auth.uid()");
    if condition.contains("SELECT") {
        return ClaimsUse::Everything;
    }
    let mut used = ClaimsUse::Nothing;
    for name in called_functions(&condition) {
        used = used.max(match name {
            "auth.uid" => ClaimsUse::Subject,
            name if PURE_FUNCTIONS
                .iter()
                .any(|own| own.eq_ignore_ascii_case(name)) =>
            {
                ClaimsUse::Nothing
            }
            _ => ClaimsUse::Everything,
        });
    }
    used
}

/// The names before opening parentheses. A string literal may look like a call, which errs on the
/// safe side.
fn called_functions(condition: &str) -> impl Iterator<Item = &str> {
    condition.match_indices('(').filter_map(|(index, _)| {
        let before = &condition[..index];
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '$' | '"');
        let start = before.rfind(|c| !is_name(c)).map_or(0, |index| {
            index + before[index..].chars().next().map_or(1, char::len_utf8)
        });
        Some(&before[start..]).filter(|name| !name.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(condition: &str, expected: ClaimsUse) {
        assert_eq!(used_by_condition(condition), expected, "{condition}");
    }

    #[test]
    fn a_condition_depends_on_what_it_calls() {
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
