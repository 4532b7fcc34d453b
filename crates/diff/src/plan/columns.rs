//! Altering columns.

use std::collections::BTreeMap;

use plinth_db::QuotedLiteral;

use crate::schema::Column;

/// One step of a table's change.
pub(super) struct Step {
    pub(super) sql: String,
    pub(super) is_destructive: bool,
}

impl Step {
    pub(super) fn new(sql: String) -> Self {
        Self {
            sql,
            is_destructive: false,
        }
    }

    pub(super) fn destructive(sql: String) -> Self {
        Self {
            sql,
            is_destructive: true,
        }
    }
}

/// Whether a column must go and come again: its expression cannot be altered.
pub(super) fn must_be_added_anew(before: &Column, after: &Column, version: i32) -> bool {
    match (&before.generated, &after.generated) {
        (None, None) => false,
        (None, Some(_)) => true,
        (Some(_), None) => before.generated_kind == "v",
        (Some(old), Some(new)) => {
            before.generated_kind != after.generated_kind || (old != new && version < 170_000)
        }
    }
}

/// The steps for a column that stays, in `alter table <table>`. `inherits_not_null`: the parent's
/// change brings this one's.
pub(super) fn alter(
    table: &str,
    before: &Column,
    after: &Column,
    using: Option<String>,
    inherits: bool,
) -> Vec<Step> {
    let column = &after.quoted;
    let mut steps = Vec::new();
    if before.identity != "" && after.identity.is_empty() {
        steps.push(alter_column(table, column, "drop identity"));
    }
    if before.generated.is_some() && after.generated.is_none() {
        steps.push(alter_column(table, column, "drop expression"));
    }
    if !inherits {
        steps.extend(type_step(table, before, after, using));
    }
    if let (Some(old), Some(new)) = (&before.generated, &after.generated)
        && old != new
        && !inherits
    {
        steps.push(alter_column(
            table,
            column,
            &format!("set expression as ({new})"),
        ));
    }
    if !inherits {
        steps.extend(not_null(table, before, after));
    }
    steps.extend(identity(table, before, after));
    steps.extend(settings(table, before, after));
    steps
}

fn alter_column(table: &str, column: &str, what: &str) -> Step {
    Step::new(format!("alter table {table} alter column {column} {what};"))
}

fn type_step(table: &str, before: &Column, after: &Column, using: Option<String>) -> Option<Step> {
    if before.has_type_of(after) && using.is_none() {
        return None;
    }
    let column = &after.quoted;
    let collation = after
        .full_collation
        .as_ref()
        .filter(|_| before.full_collation != after.full_collation || after.collation.is_some());
    let collate = collation.map_or_else(String::new, |name| format!(" collate {name}"));
    let is_safe = using.is_none() && is_widening(&before.type_name, &after.type_name);
    let using = using.unwrap_or_else(|| format!("{column}::{}", after.type_name));
    // A generated column is computed anew.
    let using = match &after.generated {
        Some(_) => String::new(),
        None => format!(" using {using}"),
    };
    Some(Step {
        sql: format!(
            "alter table {table} alter column {column} type {}{collate}{using};",
            after.type_name
        ),
        is_destructive: !is_safe && before.type_name != after.type_name
            || !is_safe && using.contains("::text::"),
    })
}

/// Whether every value of the old type is one of the new type.
fn is_widening(before: &str, after: &str) -> bool {
    const WIDER: &[(&str, &[&str])] = &[
        ("smallint", &["integer", "bigint", "numeric"]),
        ("integer", &["bigint", "numeric"]),
        ("bigint", &["numeric"]),
        ("real", &["double precision"]),
        ("character varying", &["text"]),
    ];
    let length = |name: &str| -> Option<u32> {
        let digits = name.strip_prefix("character varying(")?.strip_suffix(')')?;
        digits.parse().ok()
    };
    let is_wider = WIDER
        .iter()
        .any(|(narrow, wide)| *narrow == before && wide.contains(&after));
    match (length(before), length(after)) {
        (Some(old), Some(new)) => old <= new,
        (Some(_), None) => matches!(after, "text" | "character varying"),
        _ => before == after || is_wider,
    }
}

fn not_null(table: &str, before: &Column, after: &Column) -> Vec<Step> {
    let column = &after.quoted;
    let drop = || alter_column(table, column, "drop not null");
    let set = || match &after.not_null_name {
        Some(name) => Step::new(format!(
            "alter table {table} add constraint {name} not null {column}{};",
            if after.not_null_only_here {
                " no inherit"
            } else {
                ""
            }
        )),
        None => alter_column(table, column, "set not null"),
    };
    match (before.is_not_null, after.is_not_null) {
        (false, false) => Vec::new(),
        (false, true) => vec![set()],
        (true, false) => vec![drop()],
        (true, true) if before.not_null_only_here != after.not_null_only_here => {
            vec![drop(), set()]
        }
        (true, true) => match (&before.not_null_name, &after.not_null_name) {
            (Some(old), Some(new)) if old != new => vec![Step::new(format!(
                "alter table {table} rename constraint {old} to {new};"
            ))],
            _ => Vec::new(),
        },
    }
}

fn identity(table: &str, before: &Column, after: &Column) -> Vec<Step> {
    let column = &after.quoted;
    if after.identity.is_empty() {
        return Vec::new();
    }
    if before.identity.is_empty() {
        let add = after.identity_clause().unwrap_or_default();
        return vec![alter_column(table, column, &format!("add {add}"))];
    }
    let mut steps = Vec::new();
    if before.identity != after.identity {
        let set = format!("set generated {}", after.identity_word());
        steps.push(alter_column(table, column, &set));
    }
    if let (Some(old), Some(new), Some(sequence)) = (
        &before.identity_options,
        &after.identity_options,
        &before.identity_sequence,
    ) && old != new
    {
        steps.push(Step::new(format!("alter sequence {sequence} {new};")));
    }
    if let (Some(old), Some(new)) = (&before.identity_sequence, &after.identity_sequence)
        && old != new
    {
        let name = crate::names::last_part(new);
        steps.push(Step::new(format!("alter sequence {old} rename to {name};")));
    }
    steps
}

/// Settings of storage and statistics, also of a column that is new.
pub(super) fn settings(table: &str, before: &Column, after: &Column) -> Vec<Step> {
    let column = &after.quoted;
    let mut steps = Vec::new();
    if before.storage != after.storage {
        let storage = after.storage.as_ref().unwrap_or(&after.default_storage);
        steps.push(alter_column(
            table,
            column,
            &format!("set storage {storage}"),
        ));
    }
    if before.compression != after.compression {
        let compression = after.compression.as_deref().unwrap_or("default");
        steps.push(alter_column(
            table,
            column,
            &format!("set compression {compression}"),
        ));
    }
    if before.statistics != after.statistics {
        let statistics = after.statistics.unwrap_or(-1);
        steps.push(alter_column(
            table,
            column,
            &format!("set statistics {statistics}"),
        ));
    }
    let prefix = format!("alter table {table} alter column {column}");
    steps.extend(options(&prefix, &before.options, &after.options));
    let prefix = format!("alter foreign table {table} alter column {column}");
    steps.extend(foreign_options(
        &prefix,
        &before.foreign_options,
        &after.foreign_options,
    ));
    steps
}

/// `… reset (…)` and `… set (…)`. Names are quoted already.
pub(super) fn options(
    prefix: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Step> {
    let gone: Vec<&str> = before
        .keys()
        .filter(|name| !after.contains_key(*name))
        .map(String::as_str)
        .collect();
    let new: Vec<String> = after
        .iter()
        .filter(|(name, value)| before.get(*name) != Some(*value))
        .map(|(name, value)| format!("{name} = {}", QuotedLiteral::new(value)))
        .collect();
    let mut steps = Vec::new();
    if !gone.is_empty() {
        steps.push(Step::new(format!("{prefix} reset ({});", gone.join(", "))));
    }
    if !new.is_empty() {
        steps.push(Step::new(format!("{prefix} set ({});", new.join(", "))));
    }
    steps
}

/// `… options (drop …, set …, add …)`.
pub(super) fn foreign_options(
    prefix: &str,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Option<Step> {
    let ident = |name: &str| plinth_db::QuotedIdent::new(name).to_string();
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let mut parts: Vec<String> = gone.map(|name| format!("drop {}", ident(name))).collect();
    for (name, value) in after {
        let word = match before.get(name) {
            Some(old) if old == value => continue,
            Some(_) => "set",
            None => "add",
        };
        parts.push(format!(
            "{word} {} {}",
            ident(name),
            QuotedLiteral::new(value)
        ));
    }
    (!parts.is_empty()).then(|| Step::new(format!("{prefix} options ({});", parts.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::is_widening;

    #[test]
    fn only_what_keeps_every_value_is_a_widening() {
        for (before, after, expected) in [
            ("integer", "bigint", true),
            ("bigint", "integer", false),
            ("character varying(10)", "character varying(20)", true),
            ("character varying(20)", "character varying(10)", false),
            ("character varying(20)", "text", true),
            ("text", "integer", false),
        ] {
            assert_eq!(is_widening(before, after), expected, "{before} to {after}");
        }
    }
}
