//! The latest changes of a project, from the audit log.

use plinth_project::ProjectRef;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{Platform, PlatformError, api::api_keys::rfc3339};

/// Something that an operator changed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "OverviewChangeBody")]
pub(super) struct ChangeBody {
    at: String,
    /// `migration`, `deploy`, `settings`, `member`, `backup`, `key` or `project`.
    kind: &'static str,
    /// The action, and what it was about.
    title: String,
    actor: String,
}

/// Prefixes of actions, and what a change of that kind is shown as.
const KINDS: [(&str, &str); 9] = [
    ("migration.", "migration"),
    ("function.", "deploy"),
    ("project.config", "settings"),
    ("member.", "member"),
    ("invitation.", "member"),
    ("backup.", "backup"),
    ("key.", "key"),
    ("signing_key.", "key"),
    ("project.", "project"),
];

/// Members of details that name what was changed.
const NAMES: [&str; 5] = ["file", "slug", "name", "version", "settings"];

pub(super) async fn list_changes(
    platform: &Platform,
    project: &ProjectRef,
) -> Result<Vec<ChangeBody>, PlatformError> {
    // By the row as JSON, because what was denied is told apart only in newer versions of the table.
    let sql = "select at, actor, action,
                      coalesce(nullif(to_jsonb(a)->'after', 'null'), details, 'null')
               from platform.audit a
               where project = $1 and action like any ($2)
                 and not coalesce((to_jsonb(a)->>'is_denied')::boolean, false)
               order by id desc
               limit 10";
    let patterns: Vec<String> = KINDS
        .iter()
        .map(|(prefix, _)| format!("{}%", prefix.replace('_', "\\_")))
        .collect();
    let tables = platform.tables().await?;
    let rows = tables.query(sql, &[&project.as_str(), &patterns]).await?;
    let changes = rows.iter().map(|row| {
        let action: String = row.get(2);
        let kind = KINDS.iter().find(|(prefix, _)| action.starts_with(prefix));
        ChangeBody {
            at: rfc3339(row.get(0)),
            actor: row.get(1),
            kind: kind.map_or("project", |(_, kind)| kind),
            title: title(&action, &row.get(3)),
        }
    });
    Ok(changes.collect())
}

fn title(action: &str, details: &Value) -> String {
    let name = NAMES.iter().find_map(|name| match &details[*name] {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| texts.join(", "))
        }
        _ => None,
    });
    match name {
        Some(name) => format!("{action} {name}"),
        None => action.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn titles_name_what_was_changed() {
        for (action, details, expected) in [
            (
                "function.deploy",
                json!({ "slug": "hello", "version": 3 }),
                "function.deploy hello",
            ),
            (
                "project.config",
                json!({ "settings": ["a", "b"] }),
                "project.config a, b",
            ),
            ("project.pause", Value::Null, "project.pause"),
            ("key.revoke", json!({ "name": null }), "key.revoke"),
        ] {
            assert_eq!(title(action, &details), expected);
        }
    }
}
