//! Project refs and aliases.

use std::{fmt, str::FromStr, sync::Arc};

/// Exactly 20 letters a–z: the official tools treat anything else as a branch name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProjectRef(Arc<str>);

/// The text is no project ref.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0:?} is not a project ref: expected 20 letters a-z, \"default\" or \"platform\"")]
pub struct ProjectRefError(String);

impl ProjectRef {
    /// A new ref; 94 bits of randomness, so that refs do not collide.
    pub fn generate() -> Self {
        let mut letters = String::with_capacity(20);
        while letters.len() < 20 {
            for byte in uuid::Uuid::new_v4().into_bytes() {
                // 234 = 9 · 26: larger bytes would favour the first letters.
                if byte < 234 && letters.len() < 20 {
                    letters.push(char::from(b'a' + byte % 26));
                }
            }
        }
        Self(letters.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, shared.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl FromStr for ProjectRef {
    type Err = ProjectRefError;

    fn from_str(text: &str) -> Result<Self, ProjectRefError> {
        if text.len() == 20 && text.bytes().all(|b| b.is_ascii_lowercase()) {
            Ok(Self(text.into()))
        } else {
            Err(ProjectRefError(text.chars().take(64).collect()))
        }
    }
}

impl fmt::Display for ProjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ProjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A ref or one of two aliases, as in commands and paths.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ProjectName {
    /// The project served at the root.
    Default,
    /// Project zero: operators, projects, keys.
    Platform,
    /// Any project.
    Ref(ProjectRef),
}

impl FromStr for ProjectName {
    type Err = ProjectRefError;

    fn from_str(text: &str) -> Result<Self, ProjectRefError> {
        match text {
            "default" => Ok(Self::Default),
            "platform" => Ok(Self::Platform),
            other => other.parse().map(Self::Ref),
        }
    }
}

impl fmt::Display for ProjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Platform => f.write_str("platform"),
            Self::Ref(reference) => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_refs_parse_and_differ() {
        let (one, two) = (ProjectRef::generate(), ProjectRef::generate());
        assert_eq!(
            one.as_str().parse::<ProjectRef>().expect("its own form"),
            one
        );
        assert_ne!(one, two);
    }

    #[test]
    fn other_texts_are_rejected() {
        for bad in [
            "",
            "short",
            "ABCDEFGHIJKLMNOPQRST",
            "abcdefghijklmnopqrs1",
            "../etc/passwd",
        ] {
            assert!(bad.parse::<ProjectRef>().is_err(), "{bad}");
        }
    }

    #[test]
    fn aliases_are_names_but_no_refs() {
        assert_eq!(
            "platform".parse::<ProjectName>().expect("an alias"),
            ProjectName::Platform
        );
        assert!("platform".parse::<ProjectRef>().is_err());
    }
}
