//! The name of a blob.

use std::fmt;

use uuid::Uuid;

/// Names one blob. Everything that is stored gets a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Version(Uuid);

impl Version {
    /// A new one.
    pub(crate) fn generate() -> Self {
        Self(Uuid::new_v4())
    }

    /// Parses the version of a row, in the one form that `plinth.blob_version` accepts as well:
    /// otherwise two texts would be one blob here and two there. Rows written by users may hold
    /// anything; such an object has no blob.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let uuid = Uuid::try_parse(text).ok()?;
        let mut buffer = Uuid::encode_buffer();
        let is_plain = uuid.hyphenated().encode_lower(&mut buffer) == text;
        is_plain.then_some(Self(uuid))
    }

    /// As a parameter of a statement.
    pub(crate) fn uuid(&self) -> Uuid {
        self.0
    }

    /// The two levels of folders that its file is in: 65,536 in all, so that none becomes large.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_one_form() {
        let text = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d";
        let version = Version::parse(text).expect("a version");
        assert_eq!(version.to_string(), text);
        for other in [
            "",
            "v1",
            "0A1B2C3D-4E5F-4A6B-8C7D-9E0F1A2B3C4D",
            "0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d",
            "{0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d}",
            "urn:uuid:0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
            " 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d",
            "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d/..",
        ] {
            assert_eq!(Version::parse(other), None, "{other}");
        }
    }
}
