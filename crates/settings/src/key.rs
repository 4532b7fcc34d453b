//! The declaration of one setting, and the short constructors that the tables in `keys/` use.

use crate::kind::Kind;
use crate::node::{Body, Node};
use crate::value::Value;

/// One declared setting.
#[derive(Debug)]
pub struct Key {
    path: &'static str,
    kind: Kind,
    fallback: Fallback,
    meaning: &'static str,
    is_inert: bool,
}

/// The default as declared; texts are read by the key's kind.
#[derive(Debug, Clone, Copy)]
enum Fallback {
    Unset,
    Bool(bool),
    Integer(i64),
    Text(&'static str),
    List(&'static [&'static str]),
    EmptyTable,
}

impl Key {
    /// The dotted name, with `*` where any name may stand.
    pub fn path(&self) -> &'static str {
        self.path
    }

    /// The form of the value.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// What the setting does, in one line.
    pub fn meaning(&self) -> &'static str {
        self.meaning
    }

    /// Whether Plinth takes the setting only so that existing files load.
    pub fn is_inert(&self) -> bool {
        self.is_inert
    }

    /// The dotted name as people read it: `functions.<name>.verify_jwt`.
    pub fn shown_path(&self) -> String {
        self.path.replace('*', "<name>")
    }

    /// The default; absent for settings that are simply not set.
    pub fn default_value(&self) -> Option<Value> {
        let body = match self.fallback {
            Fallback::Unset => return None,
            Fallback::Bool(value) => Body::Bool(value),
            Fallback::Integer(value) => Body::Integer(value),
            Fallback::Text(text) => Body::Text(text.to_owned()),
            Fallback::List(items) => Body::List(items.iter().map(|s| Node::untyped(s)).collect()),
            Fallback::EmptyTable => Body::Table([].into()),
        };
        let value = self.kind.read(&Node { line: None, body });
        Some(value.expect("declared defaults have the declared form; a test reads them all"))
    }

    /// Environment variables that set it, the strongest first. `<NAME>` stands for a member.
    pub fn environment_names(&self) -> Vec<String> {
        environment_names(self.path)
            .map(|name| name.replace('*', "<NAME>"))
            .collect()
    }

    pub(crate) fn is_wildcard(&self) -> bool {
        self.path.split('.').any(|segment| segment == "*")
    }

    /// Marks a setting that Plinth takes only so that existing files load.
    pub(crate) const fn inert(mut self) -> Self {
        self.is_inert = true;
        self
    }
}

/// Environment names of a path, the strongest first; `*` stays as it is.
pub(crate) fn environment_names(path: &str) -> impl Iterator<Item = String> {
    let (own, official) = match path.strip_prefix("plinth.") {
        Some(own) => (own, None),
        None => (path, Some(path)),
    };
    let own = format!("PLINTH_{}", environment_form(own));
    let official = official.map(|path| format!("SUPABASE_{}", environment_form(path)));
    std::iter::once(own).chain(official)
}

/// Upper case, with an underscore for everything a variable's name cannot hold.
pub(crate) fn environment_form(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '*' => '*',
            c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
            _ => '_',
        })
        .collect()
}

const fn key(path: &'static str, kind: Kind, fallback: Fallback, meaning: &'static str) -> Key {
    Key {
        path,
        kind,
        fallback,
        meaning,
        is_inert: false,
    }
}

pub(crate) const fn flag(path: &'static str, default: bool, meaning: &'static str) -> Key {
    key(path, Kind::Bool, Fallback::Bool(default), meaning)
}

pub(crate) const fn optional_flag(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Bool, Fallback::Unset, meaning)
}

pub(crate) const fn integer(
    path: &'static str,
    (min, max): (i64, i64),
    default: i64,
    meaning: &'static str,
) -> Key {
    key(
        path,
        Kind::Integer { min, max },
        Fallback::Integer(default),
        meaning,
    )
}

pub(crate) const fn optional_integer(
    path: &'static str,
    (min, max): (i64, i64),
    meaning: &'static str,
) -> Key {
    key(path, Kind::Integer { min, max }, Fallback::Unset, meaning)
}

pub(crate) const fn listen_port(path: &'static str, default: i64, meaning: &'static str) -> Key {
    key(path, Kind::ListenPort, Fallback::Integer(default), meaning)
}

pub(crate) const fn optional_port(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Port, Fallback::Unset, meaning)
}

pub(crate) const fn text(path: &'static str, default: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Text, Fallback::Text(default), meaning)
}

pub(crate) const fn optional_text(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Text, Fallback::Unset, meaning)
}

pub(crate) const fn secret(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Secret, Fallback::Unset, meaning)
}

pub(crate) const fn url(path: &'static str, default: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Url, Fallback::Text(default), meaning)
}

pub(crate) const fn optional_url(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Url, Fallback::Unset, meaning)
}

pub(crate) const fn url_path(
    path: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    key(path, Kind::UrlPath, Fallback::Text(default), meaning)
}

pub(crate) const fn optional_accent(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Accent, Fallback::Unset, meaning)
}

pub(crate) const fn optional_path(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Path, Fallback::Unset, meaning)
}

pub(crate) const fn duration(
    path: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Key {
    key(path, Kind::Duration, Fallback::Text(default), meaning)
}

pub(crate) const fn optional_duration(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Duration, Fallback::Unset, meaning)
}

pub(crate) const fn bytes(path: &'static str, default: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Bytes, Fallback::Text(default), meaning)
}

pub(crate) const fn optional_bytes(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Bytes, Fallback::Unset, meaning)
}

pub(crate) const fn choice(
    path: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    meaning: &'static str,
) -> Key {
    key(path, Kind::Choice(words), Fallback::Text(default), meaning)
}

pub(crate) const fn optional_choice(
    path: &'static str,
    words: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    key(path, Kind::Choice(words), Fallback::Unset, meaning)
}

pub(crate) const fn list(
    path: &'static str,
    default: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    key(path, Kind::List, Fallback::List(default), meaning)
}

pub(crate) const fn networks(
    path: &'static str,
    default: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    key(path, Kind::Networks, Fallback::List(default), meaning)
}

pub(crate) const fn ports(
    path: &'static str,
    default: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    key(path, Kind::Ports, Fallback::List(default), meaning)
}

pub(crate) const fn names(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Names, Fallback::EmptyTable, meaning)
}

pub(crate) const fn table(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::Table, Fallback::EmptyTable, meaning)
}

pub(crate) const fn secret_table(path: &'static str, meaning: &'static str) -> Key {
    key(path, Kind::SecretTable, Fallback::EmptyTable, meaning)
}

pub(crate) const fn records(
    path: &'static str,
    names: &'static [&'static str],
    meaning: &'static str,
) -> Key {
    key(path, Kind::Records(names), Fallback::List(&[]), meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_names_follow_the_path() {
        let official = listen_port("api.port", 54321, "");
        let own = optional_text("plinth.public_url", "");
        let member = flag("functions.*.verify_jwt", true, "");

        assert_eq!(
            official.environment_names(),
            ["PLINTH_API_PORT", "SUPABASE_API_PORT"]
        );
        assert_eq!(own.environment_names(), ["PLINTH_PUBLIC_URL"]);
        assert_eq!(
            member.environment_names(),
            [
                "PLINTH_FUNCTIONS_<NAME>_VERIFY_JWT",
                "SUPABASE_FUNCTIONS_<NAME>_VERIFY_JWT"
            ]
        );
    }
}
