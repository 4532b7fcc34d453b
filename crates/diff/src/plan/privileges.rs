//! Privileges of objects, and those that new ones start with.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Plan, output::Output};
use crate::{
    ObjectName,
    schema::{Right, Rights, RightsOf, StartingKey},
};

/// Grants and revocations for objects. What an object is made with is not granted again.
pub(super) fn all(plan: &Plan<'_>, output: &mut Output) {
    let before: HashMap<(usize, Option<&str>), &RightsOf> = plan
        .from
        .rights
        .iter()
        .map(|of| ((of.object, of.column.as_deref()), of))
        .collect();
    // Schemas come first: a role that passes a right on needs USAGE there.
    let (schemas, others): (Vec<&RightsOf>, Vec<&RightsOf>) =
        plan.to.rights.iter().partition(|of| of.kind == "n");
    let mut seen = BTreeSet::new();
    for of in schemas.into_iter().chain(others) {
        if !plan.scope.has_schema(&of.schema) {
            continue;
        }
        let kept = plan.kept(of.object);
        if kept.is_none() && !plan.is_made(of.object) {
            continue;
        }
        seen.extend(kept.map(|old| (old, of.column.clone())));
        let start = match (kept, &of.column) {
            (Some(old), Some(column)) if is_added_anew(plan, old, column) => Rights::new(),
            (Some(old), column) => before
                .get(&(old, column.as_deref()))
                .map_or_else(Rights::new, |of| of.rights.clone()),
            (None, Some(_)) => Rights::new(),
            (None, None) => {
                let starting = &plan.from.starting_rights;
                starting.of(&plan.from.role, &of.schema, &of.kind)
            }
        };
        for sql in difference(of, &start, &of.rights) {
            output.push(plan.to, of.object, sql);
        }
    }
    lost_on_columns(plan, &seen, output);
}

/// Columns on which nobody has a right of their own any more.
fn lost_on_columns(plan: &Plan<'_>, seen: &BTreeSet<(usize, Option<String>)>, output: &mut Output) {
    for of in &plan.from.rights {
        let Some(column) = &of.column else { continue };
        let stays = !plan.fate.goes(of.object) && plan.scope.has_schema(&of.schema);
        let has_column = column_stays(plan, of.object, column);
        if stays && has_column && !seen.contains(&(of.object, of.column.clone())) {
            for sql in difference(of, &of.rights, &Rights::new()) {
                output.push(plan.from, of.object, sql);
            }
        }
    }
}

fn column_stays(plan: &Plan<'_>, table: usize, quoted: &str) -> bool {
    let object = &plan.from.objects[table];
    let Some(heir) = plan.to.find(object.kind, &object.name) else {
        return false;
    };
    // Columns of views come and go with the view.
    let has_it =
        |table: &crate::schema::Table| table.columns.iter().any(|column| column.quoted == quoted);
    plan.to.tables.get(&heir).is_none_or(has_it) && !is_added_anew(plan, table, quoted)
}

fn is_added_anew(plan: &Plan<'_>, table: usize, quoted: &str) -> bool {
    plan.from.tables.get(&table).is_some_and(|of| {
        let column = of.columns.iter().find(|column| column.quoted == quoted);
        column.is_some_and(|column| plan.fate.added_anew.contains(&(table, column.name.clone())))
    })
}

/// Statements for one object or column.
fn difference(of: &RightsOf, before: &Rights, after: &Rights) -> Vec<String> {
    let owner = plinth_db::QuotedIdent::new(&of.owner).to_string();
    let column = of.column.as_deref();
    let privilege = |right: &Right| match column {
        Some(column) => format!("{} ({column})", right.privilege),
        None => right.privilege.clone(),
    };
    let render = |groups: Groups, verb: &str| -> Vec<String> {
        groups
            .into_iter()
            .map(|((grantor, grantee, tail), privileges)| {
                let grantee = grantee.as_deref().unwrap_or(&owner);
                let (what, privileges) = (&of.what, privileges.join(", "));
                let word = if verb == "grant " { "to" } else { "from" };
                let sql = format!("{verb}{privileges} on {what} {word} {grantee}{tail};");
                match grantor {
                    None => sql,
                    Some(grantor) => format!("set role {grantor}; {sql} reset role;"),
                }
            })
            .collect()
    };
    let (mut revoked, mut no_option) = (Groups::new(), Groups::new());
    for (right, &was_grantable) in before {
        match after.get(right) {
            None => add(&mut revoked, right, "", privilege(right)),
            Some(false) if was_grantable => add(&mut no_option, right, "", privilege(right)),
            Some(_) => {}
        }
    }
    let mut granted = Groups::new();
    for (right, &is_grantable) in after {
        let tail = if is_grantable {
            " with grant option"
        } else {
            ""
        };
        match before.get(right) {
            Some(&before) if before || !is_grantable => {}
            _ => add(&mut granted, right, tail, privilege(right)),
        }
    }
    let mut statements = render(revoked, "revoke ");
    statements.extend(render(no_option, "revoke grant option for "));
    statements.extend(render(granted, "grant "));
    statements
}

/// Privileges by grantor, grantee and what follows.
type Groups = BTreeMap<(Option<String>, Option<String>, &'static str), Vec<String>>;

fn add(groups: &mut Groups, right: &Right, tail: &'static str, privilege: String) {
    let key = (right.grantor.clone(), right.grantee.clone(), tail);
    groups.entry(key).or_default().push(privilege);
}

/// What objects to come start with.
pub(super) fn starting(plan: &Plan<'_>, output: &mut Output) {
    let (from, to) = (&plan.from.starting_rights, &plan.to.starting_rights);
    let keys: BTreeSet<&StartingKey> = from.entries.keys().chain(to.entries.keys()).collect();
    for key in keys {
        let (role, schema, kind) = key;
        let entry = to.entries.get(key).or_else(|| from.entries.get(key));
        let Some(entry) = entry else { continue };
        let is_wanted = match schema {
            Some(schema) => plan.scope.has_schema(schema),
            None => plan.scope.has_global(),
        };
        // Those of a schema that goes have gone with it.
        let has_gone = schema.as_ref().is_some_and(|schema| {
            plan.from
                .find("schema", schema)
                .is_some_and(|at| plan.fate.goes(at))
        });
        if !is_wanted || has_gone || (entry.is_superuser && !plan.from.is_superuser) {
            continue;
        }
        let of = RightsOf {
            object: 0,
            column: None,
            what: plural(kind).to_owned(),
            kind: kind.clone(),
            schema: String::new(),
            owner: role.clone(),
            rights: Rights::new(),
        };
        for sql in difference(&of, &from.entry(key), &to.entry(key)) {
            let object = ObjectName {
                kind: "default privileges".to_owned(),
                schema: schema.clone(),
                name: role.clone(),
            };
            let sql = format!("alter default privileges {} {sql}", entry.whose);
            output.push_named(object, sql);
        }
    }
}

fn plural(kind: &str) -> &'static str {
    match kind {
        "r" => "tables",
        "S" => "sequences",
        "f" => "routines",
        "T" => "types",
        _ => "schemas",
    }
}
