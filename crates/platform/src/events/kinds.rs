//! Which events an action of the audit log gives.

use serde_json::{Map, Value, json};

/// Actions, and the events that they give.
const EVENTS: &[(&str, &[&str])] = &[
    ("project.create", &["project.created"]),
    ("project.rename", &["project.renamed"]),
    ("project.pause", &["project.paused"]),
    ("project.resume", &["project.resumed"]),
    ("project.delete", &["project.deleted"]),
    ("project.purge", &["project.purged"]),
    ("project.config", &["project.config"]),
    ("branch.create", &["project.branched"]),
    ("branch.update", &["project.branch_updated"]),
    ("branch.delete", &["project.branch_deleted"]),
    ("function.create", &["function.deployed"]),
    ("function.deploy", &["function.deployed"]),
    ("function.rollback", &["function.deployed"]),
    ("function.update", &["function.updated"]),
    ("function.delete", &["function.deleted"]),
    ("migration.apply", &["migration.applied", "schema.changed"]),
    ("database.reset", &["schema.changed"]),
    ("schema.change", &["schema.changed"]),
];

/// Areas whose actions are events of the same name.
const AREAS: [&str; 4] = ["member.", "invitation.", "advisor.", "backup."];

/// What streams may show of the details of an action: names, never contents.
const SHOWN: [&str; 7] = [
    "id", "name", "slug", "version", "file", "schema", "settings",
];

pub(super) fn of_action(action: &str, details: &Value) -> Vec<String> {
    let mut events: Vec<String> = match EVENTS.iter().find(|(known, _)| *known == action) {
        Some((_, events)) => events.iter().map(ToString::to_string).collect(),
        None if AREAS.iter().any(|area| action.starts_with(area)) => vec![action.to_owned()],
        None => Vec::new(),
    };
    let settings = details["settings"].as_array();
    let is_of_auth = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        name.starts_with("auth.") || name.starts_with("plinth.auth.")
    };
    if action == "project.config" && settings.is_some_and(|names| names.iter().any(is_of_auth)) {
        events.push("auth.config".to_owned());
    }
    events
}

pub(super) fn details(actor: &str, details: &Value) -> Value {
    let mut shown = Map::new();
    shown.insert("actor".to_owned(), json!(actor));
    for name in SHOWN {
        if let Some(value) = details.get(name).filter(|value| !value.is_null()) {
            shown.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(action: &str, details: Value, expected: &[&str]) {
        assert_eq!(of_action(action, &details), expected, "{action}");
    }

    #[test]
    fn actions_give_events() {
        check("project.pause", Value::Null, &["project.paused"]);
        check(
            "migration.apply",
            json!({ "file": "1_a.sql" }),
            &["migration.applied", "schema.changed"],
        );
        check("member.remove", Value::Null, &["member.remove"]);
        check("key.reveal", Value::Null, &[]);
        check("", Value::Null, &[]);
    }

    #[test]
    fn settings_of_auth_have_an_event_of_their_own() {
        let of_auth = json!({ "settings": ["api.max_rows", "auth.site_url"] });
        check(
            "project.config",
            of_auth,
            &["project.config", "auth.config"],
        );
        let others = json!({ "settings": ["api.max_rows"] });
        check("project.config", others, &["project.config"]);
    }

    #[test]
    fn contents_are_not_shown() {
        let action = json!({ "name": "hello", "before": { "token": "x" }, "url": "y", "id": null });

        let shown = details("token ci", &action);

        assert_eq!(shown, json!({ "actor": "token ci", "name": "hello" }));
    }
}
