//! What a schema looked like, in little room: to tell later which objects changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use crate::{Action, Schema, Scope};

/// A short text per object, which is another one when the object is. The key is the object's name as it
/// is shown. Two databases with equal schemas may differ here, because the order of columns counts: it
/// is for one database at two times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fingerprint(pub BTreeMap<String, String>);

impl Fingerprint {
    /// The objects that are not the same in `later`, and what happened to them.
    pub fn changes_until(&self, later: &Self) -> BTreeMap<String, Action> {
        let names: BTreeSet<&String> = self.0.keys().chain(later.0.keys()).collect();
        let change = |name: &String| match (self.0.get(name), later.0.get(name)) {
            (None, Some(_)) => Some(Action::Create),
            (Some(_), None) => Some(Action::Drop),
            (before, after) => (before != after).then_some(Action::Alter),
        };
        let changed = names
            .into_iter()
            .filter_map(|name| Some((name.clone(), change(name)?)));
        changed.collect()
    }

    /// One text for all of it.
    pub fn digest(&self) -> String {
        let mut all = String::new();
        for (name, hash) in &self.0 {
            _ = writeln!(all, "{name}\0{hash}");
        }
        hash(&all)
    }
}

impl Schema {
    /// The objects of a scope, with their parts, owners and privileges.
    pub fn fingerprint(&self, scope: &Scope) -> Fingerprint {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (at, object) in self.objects.iter().enumerate() {
            // Whether a materialized view has rows is no matter of the schema.
            if !scope.has(self, object) || object.kind == "rows of the materialized view" {
                continue;
            }
            let owner = object.owner.as_ref().map_or("", |owner| &owner.role);
            let text = format!("{}\0{}\0{}\0{owner}", object.kind, object.name, object.sql);
            let group = self.name_of(self.group_of(at)).to_string();
            texts.entry(group).or_default().push(text);
        }
        for of in &self.rights {
            if scope.has_schema(&of.schema) {
                let group = self.name_of(self.group_of(of.object)).to_string();
                let text = format!("{:?}\0{:?}", of.column, of.rights);
                texts.entry(group).or_default().push(text);
            }
        }
        let short = |mut texts: Vec<String>| {
            texts.sort_unstable();
            hash(&texts.join("\0\0"))
        };
        Fingerprint(
            texts
                .into_iter()
                .map(|(name, texts)| (name, short(texts)))
                .collect(),
        )
    }
}

/// FNV-1a: the same on every machine and with every compiler. Nobody gains by a collision.
fn hash(text: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_told_by_object() {
        let fingerprint = |pairs: &[(&str, &str)]| {
            let pair = |(name, hash): &(&str, &str)| ((*name).to_owned(), (*hash).to_owned());
            Fingerprint(pairs.iter().map(pair).collect())
        };
        let before = fingerprint(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let after = fingerprint(&[("a", "1"), ("b", "2"), ("d", "1")]);

        let changes: Vec<(String, Action)> = before.changes_until(&after).into_iter().collect();

        let expected = [
            ("b", Action::Alter),
            ("c", Action::Drop),
            ("d", Action::Create),
        ];
        assert_eq!(
            changes,
            expected.map(|(name, action)| (name.to_owned(), action))
        );
        assert_ne!(before.digest(), after.digest());
    }
}
