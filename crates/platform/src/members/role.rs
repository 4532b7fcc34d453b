//! Roles, and what each may do (console contract F12).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The role of an operator. Ordered by rank: nobody gives or takes a role above his own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Sees data, logs and reports.
    Reader,
    /// Changes rows, files and users, and sees nothing else.
    Editor,
    /// Changes schema, functions, settings.
    Developer,
    /// Keys, members, pausing and deleting.
    Admin,
    /// Everything.
    Owner,
}

/// What a call needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// To be a member.
    SignedIn,
    /// SQL that reads, logs, reports, advisors.
    Observe,
    /// To see rows, files and users of the application.
    ReadRows,
    /// To change them.
    WriteRows,
    /// Schema, SQL that writes, functions, secrets, settings.
    Develop,
    /// To reveal and rotate keys, pause and delete, manage members.
    Admin,
    /// The instance, and what cannot be undone.
    Owner,
}

impl Capability {
    /// All of them.
    pub const ALL: [Capability; 7] = [
        Self::SignedIn,
        Self::Observe,
        Self::ReadRows,
        Self::WriteRows,
        Self::Develop,
        Self::Admin,
        Self::Owner,
    ];

    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignedIn => "signed_in",
            Self::Observe => "observe",
            Self::ReadRows => "read_rows",
            Self::WriteRows => "write_rows",
            Self::Develop => "develop",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }
}

impl Role {
    /// All roles, the least first.
    pub const ALL: [Role; 5] = [
        Self::Reader,
        Self::Editor,
        Self::Developer,
        Self::Admin,
        Self::Owner,
    ];

    /// The name in the API and in the tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Editor => "editor",
            Self::Developer => "developer",
            Self::Admin => "admin",
            Self::Owner => "owner",
        }
    }

    /// Whether the role has a capability.
    pub fn can(self, capability: Capability) -> bool {
        match capability {
            Capability::SignedIn | Capability::ReadRows => true,
            // An editor looks after content: logs and SQL are none of it.
            Capability::Observe => self != Self::Editor,
            Capability::WriteRows => self >= Self::Editor,
            Capability::Develop => self >= Self::Developer,
            Capability::Admin => self >= Self::Admin,
            Capability::Owner => self == Self::Owner,
        }
    }

    /// The least role with a capability, for messages.
    pub(crate) fn least_with(capability: Capability) -> Role {
        let mut roles = Self::ALL.into_iter();
        roles
            .find(|role| role.can(capability))
            .unwrap_or(Self::Owner)
    }

    /// What the role may do.
    pub fn capabilities(self) -> Vec<Capability> {
        let all = Capability::ALL.into_iter();
        all.filter(|capability| self.can(*capability)).collect()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut roles = Self::ALL.into_iter();
        let found = roles.find(|role| role.as_str() == text);
        found.ok_or_else(|| {
            format!("{text:?} is not one of owner, admin, developer, editor, reader")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_role_may_do_what_the_contract_says() {
        use Capability::{Admin, Develop, Observe, Owner, ReadRows, SignedIn, WriteRows};
        let check = |role: Role, expected: &[Capability]| {
            assert_eq!(role.capabilities(), expected, "{role}");
        };
        check(Role::Reader, &[SignedIn, Observe, ReadRows]);
        check(Role::Editor, &[SignedIn, ReadRows, WriteRows]);
        check(
            Role::Developer,
            &[SignedIn, Observe, ReadRows, WriteRows, Develop],
        );
        check(
            Role::Admin,
            &[SignedIn, Observe, ReadRows, WriteRows, Develop, Admin],
        );
        check(
            Role::Owner,
            &[
                SignedIn, Observe, ReadRows, WriteRows, Develop, Admin, Owner,
            ],
        );
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        for text in ["", "Owner", "root", "owner "] {
            assert!(text.parse::<Role>().is_err(), "{text:?}");
        }
    }
}
