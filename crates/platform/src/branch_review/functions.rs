//! Functions of a branch and of its parent.

use plinth_project::ProjectName;

use super::Sides;
use crate::{Bundle, Deployment, Platform, PlatformError, StoredFunction};

/// A function that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FunctionDifference {
    pub(crate) slug: String,
    pub(crate) change: FunctionChange,
    /// SHA-256 over the sources.
    pub(crate) branch_digest: Option<String>,
    pub(crate) parent_digest: Option<String>,
    /// Whether settings differ: the name, or whether callers need a credential.
    pub(crate) changes_settings: bool,
}

/// What a merge would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionChange {
    /// The parent does not have it.
    New,
    /// The parent has another one.
    Changed,
    /// The branch does not have it; a merge leaves it.
    OnlyInParent,
}

impl FunctionChange {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::OnlyInParent => "only_in_parent",
        }
    }
}

impl Platform {
    pub(super) async fn function_differences(
        &self,
        sides: &Sides,
    ) -> Result<Vec<FunctionDifference>, PlatformError> {
        let name =
            |project: &plinth_project::Project| ProjectName::Ref(project.reference().clone());
        let parent = self.list_functions(&name(&sides.parent)).await?;
        let branch = self.list_functions(&name(&sides.branch)).await?;
        Ok(differences(&parent, &branch))
    }

    /// Deploys what the branch has and the parent does not. Returns the names.
    pub(super) async fn merge_functions(
        &self,
        sides: &Sides,
    ) -> Result<Vec<String>, PlatformError> {
        let from = ProjectName::Ref(sides.branch.reference().clone());
        let to = ProjectName::Ref(sides.parent.reference().clone());
        let mut merged = Vec::new();
        for difference in self.function_differences(sides).await? {
            if difference.change == FunctionChange::OnlyInParent {
                continue;
            }
            let (function, files) = self.load_function_files(&from, &difference.slug).await?;
            let deployment = Deployment {
                slug: function.slug,
                name: Some(function.name),
                verify_jwt: Some(function.verify_jwt),
                bundle: Bundle::new(function.source, files)?,
                activates: true,
            };
            self.deploy_function(&to, &deployment).await?;
            merged.push(difference.slug);
        }
        Ok(merged)
    }
}

fn differences(parent: &[StoredFunction], branch: &[StoredFunction]) -> Vec<FunctionDifference> {
    let mut slugs: Vec<&String> = parent.iter().chain(branch).map(|of| &of.slug).collect();
    slugs.sort_unstable();
    slugs.dedup();
    let difference = |slug: &String| {
        let theirs = parent.iter().find(|function| function.slug == *slug);
        let own = branch.iter().find(|function| function.slug == *slug);
        let changes_settings = theirs.zip(own).is_some_and(|(theirs, own)| {
            (&theirs.name, theirs.verify_jwt) != (&own.name, own.verify_jwt)
        });
        let change = match (theirs, own) {
            (None, _) => FunctionChange::New,
            (_, None) => FunctionChange::OnlyInParent,
            (Some(theirs), Some(own)) if theirs.digest != own.digest || changes_settings => {
                FunctionChange::Changed
            }
            _ => return None,
        };
        Some(FunctionDifference {
            slug: slug.clone(),
            change,
            branch_digest: own.map(|function| function.digest.clone()),
            parent_digest: theirs.map(|function| function.digest.clone()),
            changes_settings,
        })
    };
    slugs.into_iter().filter_map(difference).collect()
}
