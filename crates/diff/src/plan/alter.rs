//! Altering objects in place, except tables and types.

use plinth_db::QuotedLiteral;

use super::{Plan, output::Output, tables, types};
use crate::{Schema, names, schema::Object};

/// Whether a changed object cannot be altered into the new one.
pub(super) fn must_be_replaced(from: &Schema, old: usize, to: &Schema, new: usize) -> bool {
    let (before, after) = (&from.objects[old], &to.objects[new]);
    match before.kind {
        "table" => tables::must_be_replaced(&from.tables[&old], &to.tables[&new]),
        _ if before.sql == after.sql => false,
        "extension" => match (from.extensions.get(&old), to.extensions.get(&new)) {
            // Objects of a trusted extension belong to the superuser, who alone can move them.
            (Some(old), Some(new)) => old.schema != new.schema && !from.is_superuser,
            _ => true,
        },
        "schema"
        | "sequence"
        | "owner of the sequence"
        | "default"
        | "comment on"
        | "settings of the table"
        | "settings of the index"
        | "rows of the materialized view" => false,
        "enum type" => types::enum_steps(from, old, to, new).is_none(),
        "composite type" => types::composite_steps(from, old, to, new).is_none(),
        "domain" => match (from.domains.get(&old), to.domains.get(&new)) {
            (Some(old), Some(new)) => old.base != new.base,
            _ => true,
        },
        "function" => match (from.functions.get(&old), to.functions.get(&new)) {
            (Some(old), Some(new)) => old.fixed != new.fixed || old.defaults > new.defaults,
            _ => true,
        },
        "view" => match (from.views.get(&old), to.views.get(&new)) {
            (Some(old), Some(new)) => !new.starts_with(old),
            _ => true,
        },
        "publication" => is_for_all_tables(before) != is_for_all_tables(after),
        _ => true,
    }
}

fn is_for_all_tables(publication: &Object) -> bool {
    names::split_outside_quotes(&publication.sql, " for all tables ").is_some()
}

/// The statements that make the old object, which stays, like the new one.
pub(super) fn alter(plan: &Plan<'_>, old: usize, new: usize, output: &mut Output) {
    let (before, after) = (&plan.from.objects[old], &plan.to.objects[new]);
    if before.kind == "table" {
        tables::alter(plan, old, new, output);
    } else if before.sql != after.sql {
        for sql in statements(plan, old, new) {
            output.push(plan.to, new, sql);
        }
    }
    if let (Some(before), Some(after)) = (&before.owner, &after.owner)
        && before.role != after.role
    {
        output.push(plan.to, new, after.sql.clone());
    }
}

fn statements(plan: &Plan<'_>, old: usize, new: usize) -> Vec<String> {
    let (from, to) = (plan.from, plan.to);
    let (before, after) = (&from.objects[old], &to.objects[new]);
    let name = after.qualified();
    match after.kind {
        "enum type" => types::enum_steps(from, old, to, new).unwrap_or_default(),
        "composite type" => types::composite_steps(from, old, to, new).unwrap_or_default(),
        "domain" => types::domain_steps(&name, &from.domains[&old], &to.domains[&new]),
        "extension" => extension(plan, old, new),
        "sequence" => sequence(before, after),
        "view" => vec![or_replace(&after.sql)],
        "publication" => vec![publication(after)],
        "function" | "default" | "owner of the sequence" | "comment on" => vec![after.sql.clone()],
        _ => Vec::new(),
    }
}

/// The statement that makes a new extension. Its owner will be who runs it.
pub(super) fn create_extension(to: &Schema, at: usize) -> String {
    let object = &to.objects[at];
    let Some(extension) = to.extensions.get(&at) else {
        return object.sql.clone();
    };
    let schema = plinth_db::QuotedIdent::new(&extension.schema);
    format!(
        "create extension if not exists {} with schema {schema};",
        object.qualified()
    )
}

fn extension(plan: &Plan<'_>, old: usize, new: usize) -> Vec<String> {
    let name = plan.to.objects[new].qualified();
    let (Some(before), Some(after)) =
        (plan.from.extensions.get(&old), plan.to.extensions.get(&new))
    else {
        return Vec::new();
    };
    let mut statements = Vec::new();
    if before.version != after.version {
        let version = QuotedLiteral::new(&after.version);
        statements.push(format!("alter extension {name} update to {version};"));
    }
    if before.schema != after.schema {
        let schema = plinth_db::QuotedIdent::new(&after.schema);
        statements.push(format!("alter extension {name} set schema {schema};"));
    }
    statements
}

fn sequence(before: &Object, after: &Object) -> Vec<String> {
    let name = after.qualified();
    let is_unlogged = |object: &Object| object.sql.starts_with("create unlogged ");
    let options = |object: &Object| {
        let (_, options) = names::split_outside_quotes(&object.sql, " as ")?;
        let options = options.trim_end_matches(';');
        Some(match options.strip_suffix(" cycle") {
            Some(_) => options.to_owned(),
            None => format!("{options} no cycle"),
        })
    };
    let mut statements = Vec::new();
    if is_unlogged(before) != is_unlogged(after) {
        let set = if is_unlogged(after) {
            "unlogged"
        } else {
            "logged"
        };
        statements.push(format!("alter sequence {name} set {set};"));
    }
    if let Some(options) = options(after).filter(|new| options(before).as_ref() != Some(new)) {
        statements.push(format!("alter sequence {name} as {options};"));
    }
    statements
}

fn or_replace(sql: &str) -> String {
    sql.replacen("create view ", "create or replace view ", 1)
}

fn publication(after: &Object) -> String {
    let options = names::split_outside_quotes(&after.sql, " with (");
    let options = options.map_or("", |(_, options)| options);
    format!("alter publication {} set ({options}", after.qualified())
}
