//! What a membership is about.

use plinth_project::ProjectRef;

/// The whole instance, an organization, or one project with its branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemberScope {
    /// Everything.
    Instance,
    /// All projects of an organization, by its slug.
    Organization(String),
    /// One project and its branches.
    Project(ProjectRef),
}

impl MemberScope {
    /// The value of the column `organization`.
    pub fn organization(&self) -> Option<&str> {
        match self {
            Self::Organization(slug) => Some(slug),
            Self::Instance | Self::Project(_) => None,
        }
    }

    /// The value of the column `project`.
    pub fn project(&self) -> Option<&ProjectRef> {
        match self {
            Self::Project(reference) => Some(reference),
            Self::Instance | Self::Organization(_) => None,
        }
    }

    pub(crate) fn project_text(&self) -> Option<&str> {
        self.project().map(ProjectRef::as_str)
    }
}
