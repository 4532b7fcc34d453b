//! What is declared about one setting, without the type of its value.

use crate::kind::Kind;
use crate::node::{Body, Node};
use crate::value::Value;

/// One declared setting: its name, the form of its value, its default and its description.
#[derive(Debug, Clone, Copy)]
pub struct Declaration {
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: DefaultValue,
    pub(crate) meaning: &'static str,
    pub(crate) is_inert: bool,
}

/// The default as declared; texts are read by the setting's kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DefaultValue {
    Unset,
    Bool(bool),
    Integer(i64),
    Text(&'static str),
    List(&'static [&'static str]),
    EmptyTable,
}

impl Declaration {
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
        let body = match self.default {
            DefaultValue::Unset => return None,
            DefaultValue::Bool(value) => Body::Bool(value),
            DefaultValue::Integer(value) => Body::Integer(value),
            DefaultValue::Text(text) => Body::Text(text.to_owned()),
            DefaultValue::List(items) => {
                Body::List(items.iter().map(|item| Node::untyped(item)).collect())
            }
            DefaultValue::EmptyTable => Body::Table([].into()),
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

    pub(crate) const fn is_wildcard(&self) -> bool {
        let path = self.path.as_bytes();
        let mut index = 0;
        while index < path.len() {
            if path[index] == b'*' {
                return true;
            }
            index += 1;
        }
        false
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

#[cfg(test)]
mod tests {
    use crate::keys::{api, functions, plinth};

    #[test]
    fn environment_names_follow_the_path() {
        let official = api::PORT.declaration();
        let own = plinth::PUBLIC_URL.declaration();
        let member = functions::VERIFY_JWT.declaration();

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
