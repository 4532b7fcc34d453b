//! The declared settings as a tree, for reading documents and looking up names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::declaration::Declaration;
use crate::keys::{self, MAPS, Members};
use crate::path::SettingPath;
use crate::value::Value;

/// A declared setting with its default already read.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) declaration: &'static Declaration,
    pub(crate) default: Option<Value>,
}

#[derive(Debug, Default)]
struct Branch {
    children: BTreeMap<&'static str, Branch>,
    any: Option<Box<Branch>>,
    members: Option<Members>,
    declared: Option<Declared>,
}

static ROOT: LazyLock<Branch> = LazyLock::new(|| {
    let mut root = Branch::default();
    for declaration in keys::all() {
        root.insert(declaration.path()).declared = Some(Declared {
            declaration,
            default: declaration.default_value(),
        });
    }
    for map in MAPS {
        root.insert(map.path).members = Some(map.members);
    }
    root
});

/// A position in the tree. A name can match several branches: an exact one and a wildcard.
#[derive(Debug, Clone)]
pub(crate) struct Cursor(Vec<&'static Branch>);

/// The result of going one name further.
#[derive(Debug)]
pub(crate) enum Step {
    Known(Cursor),
    Unknown,
    /// A member with a name that its map does not allow; says which names it allows.
    InvalidName(&'static str),
}

impl Cursor {
    pub(crate) fn root() -> Self {
        Self(vec![&ROOT])
    }

    pub(crate) fn step(&self, name: &str) -> Step {
        let mut branches: Vec<_> = self
            .0
            .iter()
            .filter_map(|branch| branch.children.get(name))
            .collect();
        for branch in &self.0 {
            let Some(any) = &branch.any else { continue };
            match branch.members {
                Some(Members::Known(known)) if !known.contains(&name) => {}
                Some(Members::Pattern { is_valid, expected }) if !is_valid(name) => {
                    return Step::InvalidName(expected);
                }
                _ => branches.push(any),
            }
        }
        if branches.is_empty() {
            Step::Unknown
        } else {
            Step::Known(Self(branches))
        }
    }

    /// The setting declared here; an exact name takes precedence over a wildcard.
    pub(crate) fn declared(&self) -> Option<&'static Declared> {
        self.0.iter().find_map(|branch| branch.declared.as_ref())
    }

    /// Whether this is a table with free names.
    pub(crate) fn is_map(&self) -> bool {
        self.0.iter().any(|branch| branch.any.is_some())
    }

    /// The known names below this position.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names = Vec::new();
        for branch in &self.0 {
            names.extend(branch.children.keys());
            if let Some(Members::Known(known)) = branch.members {
                names.extend(known);
            }
        }
        names
    }
}

/// The setting with this name, if it is declared.
pub(crate) fn find(path: &SettingPath) -> Option<&'static Declared> {
    walk_to(path)?.declared()
}

/// The declaration with exactly this path, in which `*` is written out.
pub(crate) fn declared(path: &str) -> Option<&'static Declared> {
    let root: &'static Branch = &ROOT;
    let branch = path
        .split('.')
        .try_fold(root, |branch, segment| match segment {
            "*" => branch.any.as_deref(),
            name => branch.children.get(name),
        });
    branch?.declared.as_ref()
}

/// A declared name similar to `parent.name`, or the only setting elsewhere that ends in `name`.
pub(crate) fn suggest(parent: &SettingPath, cursor: &Cursor, name: &str) -> Option<String> {
    if let Some(sibling) = nearest(name, cursor.names()) {
        return Some(parent.child(sibling).to_string());
    }
    let mut elsewhere = keys::all()
        .filter(|key| key.path().rsplit('.').next() == Some(name))
        .map(Declaration::shown_path);
    match (elsewhere.next(), elsewhere.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// The most similar candidate, if it is similar enough for a typo.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let tolerance = (name.chars().count() / 3).clamp(1, 3);
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= tolerance)
        .min()
        .map(|(_, candidate)| candidate)
}

fn walk_to(path: &SettingPath) -> Option<Cursor> {
    let mut cursor = Cursor::root();
    for segment in path.segments() {
        match cursor.step(segment) {
            Step::Known(next) => cursor = next,
            Step::Unknown | Step::InvalidName(_) => return None,
        }
    }
    Some(cursor)
}

impl Branch {
    /// The branch at a declared path, created as needed.
    fn insert(&mut self, path: &'static str) -> &mut Self {
        path.split('.').fold(self, |branch, segment| match segment {
            "*" => branch.any.get_or_insert_default(),
            name => branch.children.entry(name).or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared_path(path: &str) -> Option<&'static str> {
        find(&SettingPath::parse(path)).map(|declared| declared.declaration.path())
    }

    #[test]
    fn every_declared_setting_is_found() {
        for key in keys::all() {
            let member = if key.path().starts_with("auth.hook") {
                "send_sms"
            } else {
                "google"
            };

            assert_eq!(
                declared_path(&key.path().replace('*', member)),
                Some(key.path())
            );
        }
    }

    #[test]
    fn an_exact_name_goes_before_any_name() {
        assert_eq!(
            declared_path("auth.external.gitlab.url"),
            Some("auth.external.gitlab.url")
        );
        assert_eq!(
            declared_path("auth.external.azure.url"),
            Some("auth.external.*.url")
        );
        assert_eq!(
            declared_path("auth.external.gitlab.secret"),
            Some("auth.external.*.secret")
        );
    }

    #[test]
    fn members_must_be_called_what_their_map_allows() {
        assert_eq!(declared_path("auth.external.gogle.secret"), None);
        assert_eq!(declared_path("functions.a b.verify_jwt"), None);
        assert!(declared_path("storage.buckets.any thing.public").is_some());
    }

    #[test]
    fn a_slip_finds_the_name_that_was_meant() {
        let check = |parent: &str, name: &str, expected: Option<&str>| {
            let parent = match parent {
                "" => SettingPath::default(),
                parent => SettingPath::parse(parent),
            };
            let cursor = walk_to(&parent).expect("known table");

            assert_eq!(
                suggest(&parent, &cursor, name).as_deref(),
                expected,
                "{parent}.{name}"
            );
        };
        check("auth", "jwt_expiri", Some("auth.jwt_expiry"));
        check("auth.external", "gogle", Some("auth.external.google"));
        check("", "atuh", Some("auth"));
        check("", "jwt_secret", Some("auth.jwt_secret"));
        check(
            "api",
            "enable_manual_linking",
            Some("auth.enable_manual_linking"),
        );
        check("auth", "nothing_like_it", None);
    }
}
