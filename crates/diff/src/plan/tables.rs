//! Altering tables.

use std::collections::BTreeSet;

use super::{
    Plan,
    columns::{self, Step},
    output::Output,
    types,
};
use crate::schema::{Column, Table};

/// Whether a table cannot be altered into the new one: its rows are lost.
pub(super) fn must_be_replaced(before: &Table, after: &Table) -> bool {
    before.kind != after.kind
        || before.partition_key != after.partition_key
        || before.of_type != after.of_type
        || before.server != after.server
}

/// The statements for a table that stays. Row level security is switched here; replica identity and
/// clustering follow when the indexes are there (`settings.rs`).
pub(super) fn alter(plan: &Plan<'_>, old: usize, new: usize, output: &mut Output) {
    let (before, after) = (&plan.from.tables[&old], &plan.to.tables[&new]);
    let mut steps = of_table(before, after);
    let inherits = !after.parents.is_empty() && before.parents == after.parents;
    // What is computed goes before what it is computed of, and comes after it.
    for column in ordered(before, true) {
        let is_inherited = inherits && column.parents > 0 && !column.is_local;
        let goes = after.column(&column.name).is_none()
            || plan.fate.added_anew.contains(&(old, column.name.clone()));
        if goes && !is_inherited {
            let sql = format!("alter table {} drop column {};", after.name, column.quoted);
            // What is computed can be computed again.
            steps.push(match column.generated {
                Some(_) => Step::new(sql),
                None => Step::destructive(sql),
            });
        }
    }
    let defaults = deferred(plan, new);
    for column in ordered(after, false) {
        let key = (old, column.name.clone());
        let existing = before
            .column(&column.name)
            .filter(|_| !plan.fate.added_anew.contains(&key));
        let is_inherited = inherits && column.parents > 0 && !column.is_local;
        match existing {
            Some(existing) => {
                let using = conversion(plan, old, existing, column);
                let of_parent = is_inherited && follows_parent(plan, before, existing, column);
                let using = using.filter(|_| !is_inherited);
                let altered = columns::alter(&after.name, existing, column, using, of_parent);
                steps.extend(altered);
            }
            None if is_inherited || defaults.contains(&column.name) => {}
            None => steps.extend(add(plan, new, column)),
        }
    }
    if is_inheriting(before, after) {
        // A parent's columns must be there.
        let new = after
            .parents
            .iter()
            .filter(|name| !before.parents.contains(name));
        let inherit = |parent| format!("alter table {} inherit {parent};", after.name);
        steps.extend(new.map(inherit).map(Step::new));
    }
    for step in steps {
        output.add(plan.to, new, step.sql, step.is_destructive);
    }
}

/// The columns of a table, generated ones first or last.
fn ordered(table: &Table, generated_first: bool) -> impl Iterator<Item = &Column> {
    let of = move |is_generated: bool| {
        let columns = table.columns.iter();
        columns.filter(move |column| column.generated.is_some() == is_generated)
    };
    of(generated_first).chain(of(!generated_first))
}

/// Partitions are attached and detached by statements of their own.
fn is_inheriting(before: &Table, after: &Table) -> bool {
    !before.is_partition && !after.is_partition
}

fn of_table(before: &Table, after: &Table) -> Vec<Step> {
    let name = &after.name;
    let table = |what: String| Step::new(format!("alter table {name} {what};"));
    let mut steps = Vec::new();
    if before.persistence != after.persistence {
        let word = if after.persistence == "u" {
            "unlogged"
        } else {
            "logged"
        };
        steps.push(table(format!("set {word}")));
    }
    if before.access_method != after.access_method
        && let Some(method) = &after.access_method
    {
        steps.push(table(format!("set access method {}", ident(method))));
    }
    if before.tablespace != after.tablespace {
        let space = after.tablespace.as_deref().unwrap_or("pg_default");
        steps.push(table(format!("set tablespace {}", ident(space))));
    }
    let prefix = format!("alter table {name}");
    steps.extend(columns::options(&prefix, &before.options, &after.options));
    let prefix = format!("alter foreign table {name}");
    steps.extend(columns::foreign_options(
        &prefix,
        &before.foreign_options,
        &after.foreign_options,
    ));
    if is_inheriting(before, after) {
        let gone = before
            .parents
            .iter()
            .filter(|name| !after.parents.contains(name));
        steps.extend(gone.map(|parent| table(format!("no inherit {parent}"))));
    }
    if before.has_row_security != after.has_row_security {
        let word = if after.has_row_security {
            "enable"
        } else {
            "disable"
        };
        steps.push(table(format!("{word} row level security")));
    }
    if before.forces_row_security != after.forces_row_security {
        let word = if after.forces_row_security {
            "force"
        } else {
            "no force"
        };
        steps.push(table(format!("{word} row level security")));
    }
    steps
}

fn ident(name: &str) -> plinth_db::QuotedIdent {
    plinth_db::QuotedIdent::new(name)
}

/// Whether the change of the parent's column changes this one in the same way.
fn follows_parent(plan: &Plan<'_>, table: &Table, before: &Column, after: &Column) -> bool {
    table.parents.iter().any(|parent| {
        let old = plan
            .from
            .table_named(parent)
            .and_then(|of| of.column(&before.name));
        let new = plan
            .to
            .table_named(parent)
            .and_then(|of| of.column(&after.name));
        let (Some(old), Some(new)) = (old, new) else {
            return false;
        };
        let not_null = |column: &Column| column.is_not_null;
        !before.has_type_of(after)
            || not_null(before) == not_null(after)
            || (not_null(old) != not_null(new) && not_null(new) == not_null(after))
    })
}

/// How values become those of a type that is made anew; none if the type stays.
fn conversion(plan: &Plan<'_>, table: usize, before: &Column, after: &Column) -> Option<String> {
    let key = (table, before.name.clone());
    if !plan.fate.retyped.contains(&key) {
        return None;
    }
    let mut of_type = plan.from.columns_of_type.iter();
    let of_type = of_type.find(|(_, columns)| columns.contains(&key));
    let of_type = of_type.map(|(at, _)| *at);
    let is_itself = of_type.is_some_and(|at| plan.from.objects[at].qualified() == before.type_name);
    Some(types::conversion(
        plan.from,
        plan.to,
        of_type,
        &after.quoted,
        is_itself,
        &after.type_name,
    ))
}

/// The statements that add a column with its default, so that existing rows have it.
fn add(plan: &Plan<'_>, table: usize, column: &Column) -> Vec<Step> {
    let name = &plan.to.tables[&table].name;
    let default = default_of(plan, table, column)
        .map(|at| default_clause(&plan.to.objects[at].sql))
        .unwrap_or_default();
    let definition = column.definition();
    let mut steps = vec![Step::new(format!(
        "alter table {name} add column {definition}{default};"
    ))];
    let plain = Column {
        storage: None,
        compression: None,
        statistics: None,
        options: Default::default(),
        foreign_options: Default::default(),
        ..column.clone()
    };
    steps.extend(columns::settings(name, &plain, column));
    steps
}

fn default_clause(sql: &str) -> String {
    let clause = crate::names::split_outside_quotes(sql, " set default ");
    let value = clause.map_or("", |(_, value)| value.trim_end_matches(';'));
    format!(" default {value}")
}

/// The entry of a column's default.
fn default_of(plan: &Plan<'_>, table: usize, column: &Column) -> Option<usize> {
    let name = format!("{}.{}", plan.to.tables[&table].name, column.quoted);
    plan.to.find("default", &name)
}

/// New columns whose default needs something that is made after the table.
fn deferred(plan: &Plan<'_>, table: usize) -> BTreeSet<String> {
    let columns = plan.to.tables[&table].columns.iter();
    let is_deferred = |column: &&Column| {
        default_of(plan, table, column).is_some_and(|at| is_late(plan, table, at))
    };
    columns
        .filter(is_deferred)
        .map(|column| column.name.clone())
        .collect()
}

fn is_late(plan: &Plan<'_>, table: usize, default: usize) -> bool {
    let mut needs = plan.to.objects[default].needs.iter();
    needs.any(|&need| need > table && plan.is_made(need))
}

/// The statements for the default of a column: none if the column was added with it, and the whole
/// column if it had to wait.
pub(super) fn add_default(plan: &Plan<'_>, at: usize, output: &mut Output) {
    let default = &plan.to.objects[at];
    let new_column = default.relation.and_then(|table| {
        let old = plan.kept(table)?;
        let name = default.names.get(2)?;
        let column = plan.to.tables.get(&table)?.column(name)?;
        let is_there = plan.from.tables[&old].column(name).is_some();
        let comes_again = plan.fate.added_anew.contains(&(old, name.clone()));
        (!is_there || comes_again).then_some((table, column))
    });
    match new_column {
        None => output.push(plan.to, at, default.sql.clone()),
        Some((table, column)) if is_late(plan, table, at) => {
            for step in add(plan, table, column) {
                output.add(plan.to, table, step.sql, step.is_destructive);
            }
        }
        Some(_) => {}
    }
}
