//! The name of a blob.

use std::fmt;

use uuid::Uuid;

/// Names one blob; a new one for everything that is ever stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Version(Uuid);

impl Version {
    /// One that nobody has.
    pub(crate) fn generate() -> Self {
        Self(Uuid::new_v4())
    }

    /// As it stands in a row. Rows that users wrote may hold anything; such an object has no bytes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Uuid::try_parse(text).ok().map(Self)
    }

    /// As Postgres takes it.
    pub(crate) fn uuid(&self) -> Uuid {
        self.0
    }

    /// The folders that its file is in: 65,536 of them, so that none becomes large.
    pub(crate) fn folders(&self) -> [String; 2] {
        let [first, second, ..] = *self.0.as_bytes();
        [format!("{first:02x}"), format!("{second:02x}")]
    }
}

impl From<Uuid> for Version {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
