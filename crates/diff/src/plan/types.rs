//! Altering enum types, composite types and domains; columns of types that are made anew.

use plinth_db::QuotedLiteral;

use crate::{
    Schema,
    schema::{Composite, Domain},
};

/// Statements that rename or add labels; none if labels go or change places, or if something uses a
/// new label, which PostgreSQL allows only after a commit.
pub(super) fn enum_steps(
    from: &Schema,
    old: usize,
    to: &Schema,
    new: usize,
) -> Option<Vec<String>> {
    let name = to.objects[new].qualified();
    let (before, after) = (from.enums.get(&old)?, to.enums.get(&new)?);
    if let Some(steps) = renamed_labels(&name, before, after) {
        return Some(steps);
    }
    let added: Vec<&String> = after
        .iter()
        .filter(|label| !before.contains(label))
        .collect();
    let kept = after.iter().filter(|label| before.contains(label));
    if !kept.eq(before) {
        return None;
    }
    let uses_new_label = |&user: &usize| {
        let sql = &to.objects[user].sql;
        added
            .iter()
            .any(|label| sql.contains(QuotedLiteral::new(label).to_string().trim_start()))
    };
    if to.users[new].iter().any(uses_new_label) {
        return None;
    }
    Some(added_labels(&name, before, after))
}

fn renamed_labels(name: &str, before: &[String], after: &[String]) -> Option<Vec<String>> {
    let changed = |(old, new): &(&String, &String)| old != new;
    let is_renamed = |(old, new): (&String, &String)| !after.contains(old) && !before.contains(new);
    let pairs = || before.iter().zip(after).filter(changed);
    if before.len() != after.len() || !pairs().all(is_renamed) {
        return None;
    }
    let rename = |(old, new): (&String, &String)| {
        let (old, new) = (QuotedLiteral::new(old), QuotedLiteral::new(new));
        format!("alter type {name} rename value {old} to {new};")
    };
    Some(pairs().map(rename).collect())
}

fn added_labels(name: &str, before: &[String], after: &[String]) -> Vec<String> {
    let mut steps = Vec::new();
    for (at, label) in after.iter().enumerate() {
        if before.contains(label) {
            continue;
        }
        let place = match at.checked_sub(1) {
            Some(previous) => format!(" after {}", QuotedLiteral::new(&after[previous])),
            None => before
                .first()
                .map(|first| format!(" before {}", QuotedLiteral::new(first)))
                .unwrap_or_default(),
        };
        let label = QuotedLiteral::new(label);
        steps.push(format!("alter type {name} add value {label}{place};"));
    }
    steps
}

/// Statements that change attributes; none if that would not give the new order, or if a column has
/// the type and an attribute's type changes.
pub(super) fn composite_steps(
    from: &Schema,
    old: usize,
    to: &Schema,
    new: usize,
) -> Option<Vec<String>> {
    let name = to.objects[new].qualified();
    let (before, after) = (from.composites.get(&old)?, to.composites.get(&new)?);
    let kept = before
        .names
        .iter()
        .filter(|name| after.names.contains(name));
    let added = after
        .names
        .iter()
        .filter(|name| !before.names.contains(name));
    if !kept.chain(added).eq(&after.names) {
        return None;
    }
    let has_columns = from.columns_of_type.contains_key(&old);
    let mut steps = Vec::new();
    for attribute in &before.names {
        if !after.names.contains(attribute) {
            steps.push(format!(
                "alter type {name} drop attribute {attribute} cascade;"
            ));
        }
    }
    for (attribute, of_type) in after.names.iter().zip(&after.types) {
        match before.type_of(attribute) {
            None => steps.push(format!(
                "alter type {name} add attribute {attribute} {of_type} cascade;"
            )),
            Some(old) if old == of_type => {}
            Some(_) if has_columns => return None,
            Some(_) => steps.push(format!(
                "alter type {name} alter attribute {attribute} type {of_type} cascade;"
            )),
        }
    }
    Some(steps)
}

impl Composite {
    fn type_of(&self, attribute: &str) -> Option<&String> {
        let at = self.names.iter().position(|name| name == attribute)?;
        self.types.get(at)
    }
}

pub(super) fn domain_steps(name: &str, before: &Domain, after: &Domain) -> Vec<String> {
    let mut steps = Vec::new();
    if before.default != after.default {
        steps.push(match &after.default {
            Some(default) => format!("alter domain {name} set default {default};"),
            None => format!("alter domain {name} drop default;"),
        });
    }
    if before.is_not_null != after.is_not_null {
        let step = if after.is_not_null { "set" } else { "drop" };
        steps.push(format!("alter domain {name} {step} not null;"));
    }
    steps
}

/// How values of a column become those of a type that is made anew.
pub(super) fn conversion(
    from: &Schema,
    to: &Schema,
    of_type: Option<usize>,
    column: &str,
    is_of_type_itself: bool,
    target: &str,
) -> String {
    let by_text = format!("{column}::text::{target}");
    let Some(old) = of_type.filter(|_| is_of_type_itself) else {
        return by_text;
    };
    let object = &from.objects[old];
    let new = to.find(object.kind, &object.name);
    let (Some(before), Some(after)) = (
        from.composites.get(&old),
        new.and_then(|new| to.composites.get(&new)),
    ) else {
        return by_text;
    };
    let values: Vec<String> = after
        .names
        .iter()
        .zip(&after.types)
        .map(|(name, of_type)| match before.names.contains(name) {
            true => format!("({column}).{name}::text::{of_type}"),
            false => "null".to_owned(),
        })
        .collect();
    format!(
        "case when {column} is null then null else row({})::{target} end",
        values.join(", ")
    )
}
