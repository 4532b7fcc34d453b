//! Makes and alters objects, those first that others depend on.

use std::collections::BTreeSet;

use super::{Plan, alter, fate::TYPES, output::Output, settings, tables};

/// What comes after indexes.
const AFTER_INDEXES: &[&str] = &[
    "index of a partition",
    "settings of the index",
    "statistics",
    "foreign key",
    "rule",
    "trigger",
    "policy",
    "settings of the table",
];

/// In the order of the new schema, but for partitions: they join their parents when their indexes
/// are there, so that PostgreSQL makes none of its own. It takes any index that is like the parent's,
/// so those that are no part of one come later.
pub(super) fn all(plan: &Plan<'_>, output: &mut Output) {
    let mut own_indexes = Some(own_indexes(plan));
    for at in 0..plan.to.objects.len() {
        let object = &plan.to.objects[at];
        if AFTER_INDEXES.contains(&object.kind)
            && let Some(indexes) = own_indexes.take()
        {
            attach_partitions(plan, &indexes, output);
        }
        if own_indexes.as_ref().is_some_and(|own| own.contains(&at)) {
            continue;
        }
        match object.kind {
            "partition" | "rows of the materialized view" => {}
            "settings of the index" if is_wanted(plan, at) => settings::of_index(plan, at, output),
            _ => one(plan, at, output),
        }
    }
    if let Some(indexes) = own_indexes {
        attach_partitions(plan, &indexes, output);
    }
    for (at, _) in plan.to.objects.iter().enumerate() {
        if plan.to.tables.contains_key(&at)
            && let Some(old) = plan.kept(at)
        {
            settings::of_kept_table(plan, old, at, output);
        }
    }
    restore(plan, output);
}

fn is_wanted(plan: &Plan<'_>, at: usize) -> bool {
    plan.is_made(at) || plan.kept(at).is_some()
}

fn one(plan: &Plan<'_>, at: usize, output: &mut Output) {
    if plan.is_made(at) {
        make(plan, at, output);
    } else if let Some(old) = plan.kept(at) {
        alter::alter(plan, old, at, output);
    }
}

fn make(plan: &Plan<'_>, at: usize, output: &mut Output) {
    let object = &plan.to.objects[at];
    if plan.fate.origin[at].is_none() {
        output.created(plan.to, at);
    }
    match object.kind {
        "rights on" | "default privileges of" | "large object" | "user mapping" => return,
        // Row level security of a table that stays is switched with the table.
        "settings of the table" if plan.kept(object.subject).is_some() => return,
        "default" => return tables::add_default(plan, at, output),
        "extension" => {
            let sql = alter::create_extension(plan.to, at);
            return output.push(plan.to, at, sql);
        }
        kind if TYPES.contains(&kind) => rename_old_type(plan, at, output),
        _ => {}
    }
    output.push(plan.to, at, object.sql.clone());
    if let Some(owner) = &object.owner
        && owner.role != plan.from.quoted_role
    {
        output.push(plan.to, at, owner.sql.clone());
    }
}

/// Columns have the old type until they get the new one.
fn rename_old_type(plan: &Plan<'_>, at: usize, output: &mut Output) {
    let Some(old) = plan.fate.origin[at] else {
        return;
    };
    if let Some(temporary) = plan.fate.renamed.get(&old) {
        let object = &plan.from.objects[old];
        let word = if object.kind == "domain" {
            "domain"
        } else {
            "type"
        };
        let sql = format!("alter {word} {} rename to {temporary};", object.qualified());
        output.push(plan.from, old, sql);
    }
}

/// Indexes of partitions that join their parent, without those that join the parent's.
fn own_indexes(plan: &Plan<'_>) -> BTreeSet<usize> {
    let joining: BTreeSet<usize> = plan
        .to
        .objects
        .iter()
        .enumerate()
        .filter(|(at, object)| object.kind == "partition" && plan.is_made(*at))
        .map(|(_, object)| object.subject)
        .collect();
    let is_own = |at: &usize| {
        let object = &plan.to.objects[*at];
        object.kind == "index"
            && object
                .relation
                .is_some_and(|table| joining.contains(&table))
            && !plan.to.index_parents.contains_key(at)
    };
    (0..plan.to.objects.len()).filter(is_own).collect()
}

fn attach_partitions(plan: &Plan<'_>, own_indexes: &BTreeSet<usize>, output: &mut Output) {
    for (at, object) in plan.to.objects.iter().enumerate() {
        if object.kind != "partition" || !plan.is_made(at) {
            continue;
        }
        let table = &plan.to.tables[&object.subject];
        for check in &table.inherited_checks {
            let name =
                crate::names::first_identifier(check.strip_prefix("constraint ").unwrap_or(check));
            let drop = format!("drop constraint if exists {name}");
            let sql = format!("alter table {} {drop}, add {check};", table.name);
            output.push(plan.to, at, sql);
        }
        output.push(plan.to, at, object.sql.clone());
    }
    for &at in own_indexes {
        one(plan, at, output);
    }
}

/// Materialized views that were made, with rows.
pub(super) fn refresh(plan: &Plan<'_>, output: &mut Output) {
    for (at, object) in plan.to.objects.iter().enumerate() {
        if object.kind == "rows of the materialized view" && plan.is_made(object.subject) {
            output.push(plan.to, at, object.sql.clone());
        }
    }
}

/// What had to go although it is outside of the scope, because it depends on what changes.
fn restore(plan: &Plan<'_>, output: &mut Output) {
    for (at, object) in plan.from.objects.iter().enumerate() {
        let is_there = plan.to.find(object.kind, &object.name).is_some();
        let is_outside = !plan.scope.has(plan.from, object);
        if plan.fate.goes_first[at] && is_outside && !is_there && object.kind != "rights on" {
            output.push(plan.from, at, object.sql.clone());
        }
    }
}
