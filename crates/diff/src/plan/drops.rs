//! What goes: before anything is altered, or when nothing uses it any more.

use super::{Plan, output::Output, settings};
use crate::{Schema, names, schema::Object};

/// What stands in the way of changes, those first that depend on others.
pub(super) fn first(plan: &Plan<'_>, output: &mut Output) {
    let going = || (0..plan.from.objects.len()).filter(|&at| plan.fate.goes_first[at]);
    // Indexes of a partition belong to the parent's.
    for at in going().filter(|&at| plan.from.objects[at].kind == "partition") {
        if !goes_with_another(plan, at) {
            output.push(plan.from, at, detach(plan.from, at));
        }
    }
    // A parent's check goes before its children's own.
    let is_own_check = |at: usize| {
        let object = &plan.from.objects[at];
        object.kind == "check of the table" && !object.is_inherited
    };
    let checks = going().filter(|&at| is_own_check(at));
    for at in checks.chain(going().rev().filter(|&at| !is_own_check(at))) {
        drop_object(plan, at, output);
    }
}

/// What nothing uses any more.
pub(super) fn last(plan: &Plan<'_>, output: &mut Output) {
    for at in (0..plan.from.objects.len()).rev() {
        if plan.fate.goes_last[at] {
            drop_object(plan, at, output);
        } else if let Some(temporary) = plan.fate.renamed.get(&at) {
            let object = &plan.from.objects[at];
            let schema = &object.quoted[0];
            let word = if object.kind == "domain" {
                "domain"
            } else {
                "type"
            };
            output.push(plan.from, at, format!("drop {word} {schema}.{temporary};"));
        }
    }
}

fn drop_object(plan: &Plan<'_>, at: usize, output: &mut Output) {
    let object = &plan.from.objects[at];
    let is_made_anew = plan.to.find(object.kind, &object.name).is_some();
    if !is_made_anew {
        output.dropped(plan.from, at);
    }
    if goes_with_another(plan, at) || plan.fate.renamed.contains_key(&at) {
        return;
    }
    let Some(sql) = drop_sql(object) else {
        if object.kind == "settings of the index" {
            settings::reset_index(plan, at, output);
        }
        return;
    };
    let loses_rows = matches!(object.kind, "schema" | "extension" | "sequence" | "table");
    output.add(plan.from, at, sql, loses_rows);
}

/// Whether an object goes without a statement of its own, because what it belongs to goes.
fn goes_with_another(plan: &Plan<'_>, at: usize) -> bool {
    let object = &plan.from.objects[at];
    if object.completes && object.kind != "partition" {
        // The new text of a comment replaces the old one.
        let is_replaced = plan.to.find(object.kind, &object.name).is_some();
        let subject_goes = object.subject != at && plan.fate.goes(object.subject);
        if is_replaced || subject_goes {
            return true;
        }
    }
    // Foreign keys between tables that go hold both.
    let relation_goes = object
        .relation
        .is_some_and(|of| of != at && plan.fate.goes(of));
    if relation_goes && object.kind != "foreign key" && !holds_what_goes_before(plan, at) {
        return true;
    }
    if object.kind == "comment on" && names_lost_column(plan, object) {
        return true;
    }
    let parent = plan.from.index_parents.get(&at);
    if parent.is_some_and(|&parent| plan.fate.goes_first[parent]) {
        return true;
    }
    match object.kind {
        "member of an operator family" => true,
        "table of a publication" | "schema of a publication" => {
            let publication = object.arguments.first();
            let publication = publication.and_then(|name| plan.from.find("publication", name));
            publication.is_some_and(|at| plan.fate.goes(at))
        }
        "check of the domain" => {
            let domain = plan.from.group_of(at);
            domain != at && plan.fate.goes_first[domain] && !plan.fate.renamed.contains_key(&domain)
        }
        _ => false,
    }
}

/// Whether a part of a table keeps something that goes before the table: a function of its rows in
/// one of its policies.
fn holds_what_goes_before(plan: &Plan<'_>, at: usize) -> bool {
    let object = &plan.from.objects[at];
    let relation = object.relation.unwrap_or(at);
    let mut needs = object.needs.iter();
    needs.any(|&need| need > relation && plan.fate.goes(need))
}

/// A comment on a column goes with the column.
fn names_lost_column(plan: &Plan<'_>, comment: &Object) -> bool {
    let Some(table) = plan.from.tables.get(&comment.subject) else {
        return false;
    };
    table.columns.iter().any(|column| {
        let name = format!("table column {}.{}", table.name, column.quoted);
        let heir = plan.to.table_named(&table.name);
        comment.name == name && heir.is_none_or(|heir| heir.column(&column.name).is_none())
    })
}

fn detach(from: &Schema, at: usize) -> String {
    let object = &from.objects[at];
    let parent = from
        .tables
        .get(&object.subject)
        .and_then(|table| table.parents.first())
        .map_or("", String::as_str);
    format!(
        "alter table only {parent} detach partition {};",
        object.qualified()
    )
}

/// The statement that takes an object away; none if it takes several, or if it goes by itself.
fn drop_sql(object: &Object) -> Option<String> {
    let name = object.qualified();
    let part = |word: &str| format!("drop {word} {} on {};", object.own_name(), object.table());
    let constraint = || {
        let (_, rest) = names::split_outside_quotes(&object.sql, " add constraint ")?;
        Some(names::first_identifier(rest).to_owned())
    };
    Some(match object.kind {
        "schema" => format!("drop schema {name};"),
        "extension" => format!("drop extension {name};"),
        "collation" => format!("drop collation {name};"),
        "enum type" | "composite type" | "range type" => format!("drop type {name};"),
        "domain" => format!("drop domain {name};"),
        // It may have gone with its column.
        "sequence" => format!("drop sequence if exists {name};"),
        "function" | "aggregate" => format!("drop routine {};", object.name),
        "access method" => format!("drop access method {name};"),
        "operator" => operator(object)?,
        "operator family" => format!("drop operator family {};", object.name),
        "operator class" => format!("drop operator class {};", object.name),
        "cast" => format!("drop cast {};", object.name),
        "conversion" => format!("drop conversion {name};"),
        "transform" => {
            let (head, _) = names::split_outside_quotes(&object.sql, " (")?;
            format!("drop {};", head.strip_prefix("create ")?)
        }
        "text search dictionary" => format!("drop text search dictionary {name};"),
        "text search configuration" => format!("drop text search configuration {name};"),
        "foreign-data wrapper" => format!("drop foreign data wrapper {name};"),
        "foreign server" => format!("drop server {name};"),
        "table" => {
            let is_foreign = object.sql.starts_with("create foreign");
            let word = if is_foreign { "foreign table" } else { "table" };
            format!("drop {word} {name};")
        }
        "default" => format!(
            "alter table only {} alter column {} drop default;",
            object.table(),
            object.quoted.get(2)?
        ),
        "owner of the sequence" => {
            // The sequence of a column that goes has gone with it.
            let (head, _) = names::split_outside_quotes(&object.sql, " owned by ")?;
            format!("{head} owned by none;")
        }
        "view" => format!("drop view {name};"),
        "materialized view" => format!("drop materialized view {name};"),
        "check of the domain" => {
            let (head, _) = names::split_outside_quotes(&object.sql, " add constraint ")?;
            format!("{head} drop constraint {};", constraint()?)
        }
        "check of the table" | "not-null constraint" | "constraint" | "foreign key" => format!(
            "alter table {} drop constraint {};",
            object.table(),
            constraint()?
        ),
        "index" => format!("drop index {name};"),
        "statistics" => format!("drop statistics {name};"),
        "rule" => part("rule"),
        // Of a partition's trigger only the state is its own.
        "trigger" if object.sql.starts_with("alter table") => format!(
            "alter table only {} enable trigger {};",
            object.table(),
            object.own_name()
        ),
        "trigger" => part("trigger"),
        "policy" => part("policy"),
        "publication" => format!("drop publication {name};"),
        "table of a publication" => {
            let (head, _) = names::split_outside_quotes(&object.sql, " add table ")?;
            format!("{head} drop table {};", object.table())
        }
        "schema of a publication" => {
            let (head, rest) = names::split_outside_quotes(&object.sql, " add tables ")?;
            format!("{head} drop tables {rest}")
        }
        "event trigger" => format!("drop event trigger {name};"),
        "comment on" => format!("{} is null;", names::comment_target(&object.sql)),
        _ => return None,
    })
}

fn operator(object: &Object) -> Option<String> {
    let (schema, name) = (object.quoted.first()?, object.names.get(1)?);
    let argument = |argument: &String| match argument.as_str() {
        "-" => "none".to_owned(),
        name => name.to_owned(),
    };
    let arguments: Vec<String> = object.arguments.iter().map(argument).collect();
    Some(format!(
        "drop operator {schema}.{name} ({});",
        arguments.join(", ")
    ))
}
