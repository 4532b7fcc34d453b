//! Replica identity, clustering and statistics of indexes: settings of tables that name indexes, so
//! that they come when these are there.

use super::{Plan, output::Output};

/// For a table that stays. Where an index is named, the index's own entry says so.
pub(super) fn of_kept_table(plan: &Plan<'_>, old: usize, new: usize, output: &mut Output) {
    let (before, after) = (&plan.from.tables[&old], &plan.to.tables[&new]);
    let identity = match after.replica_identity.as_str() {
        "n" => Some("nothing"),
        "f" => Some("full"),
        "d" => Some("default"),
        _ => None,
    };
    if before.replica_identity != after.replica_identity
        && let Some(identity) = identity
    {
        let sql = format!("alter table {} replica identity {identity};", after.name);
        output.push(plan.to, new, sql);
    }
    if before.clustered_on.is_some() && after.clustered_on.is_none() {
        let sql = format!("alter table {} set without cluster;", after.name);
        output.push(plan.to, new, sql);
    }
}

/// The settings of an index, unless it has them.
pub(super) fn of_index(plan: &Plan<'_>, at: usize, output: &mut Output) {
    let entry = &plan.to.objects[at];
    if let Some(old) = plan.kept(at) {
        if plan.from.objects[old].sql == entry.sql {
            return;
        }
        reset_index(plan, old, output);
    }
    output.push(plan.to, at, entry.sql.clone());
}

/// Undoes the statistics of an index that stays.
pub(super) fn reset_index(plan: &Plan<'_>, old: usize, output: &mut Output) {
    let entry = &plan.from.objects[old];
    for line in entry.sql.lines() {
        if let Some((head, _)) = line.split_once(" set statistics ") {
            output.push(plan.from, old, format!("{head} set statistics -1;"));
        }
    }
}
