//! Settings and buckets that differ: shown by a review, and left alone by a merge.

use plinth_project::Project;

use super::Sides;
use crate::PlatformError;

/// A setting with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingDifference {
    pub(crate) name: String,
    /// Masked if it is a secret, and then equal whatever it is: two secrets are not compared.
    pub(crate) parent: Option<String>,
    pub(crate) branch: Option<String>,
}

pub(super) fn setting_differences(sides: &Sides) -> Vec<SettingDifference> {
    let parent = plinth_settings::describe(&sides.parent.settings().current());
    let branch = plinth_settings::describe(&sides.branch.settings().current());
    let mut differences: Vec<SettingDifference> = Vec::new();
    for row in &parent {
        let own = branch.iter().find(|own| own.name == row.name);
        let value = own.and_then(|own| own.value.clone());
        if row.value != value {
            differences.push(SettingDifference {
                name: row.name.clone(),
                parent: row.value.clone(),
                branch: value,
            });
        }
    }
    // Members of maps that only the branch has.
    let is_new = |row: &&plinth_settings::Row| {
        row.value.is_some() && !parent.iter().any(|theirs| theirs.name == row.name)
    };
    differences.extend(branch.iter().filter(is_new).map(|row| SettingDifference {
        name: row.name.clone(),
        parent: None,
        branch: row.value.clone(),
    }));
    differences
}

/// A bucket that is not the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BucketDifference {
    pub(crate) id: String,
    pub(crate) parent: Option<Bucket>,
    pub(crate) branch: Option<Bucket>,
}

/// What is set of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bucket {
    pub(crate) id: String,
    pub(crate) is_public: bool,
    pub(crate) file_size_limit: Option<i64>,
    pub(crate) allowed_mime_types: Option<Vec<String>>,
}

pub(super) async fn bucket_differences(
    sides: &Sides,
) -> Result<Vec<BucketDifference>, PlatformError> {
    let (parent, branch) = tokio::try_join!(buckets(&sides.parent), buckets(&sides.branch))?;
    let mut ids: Vec<&String> = parent.iter().chain(&branch).map(|of| &of.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let find = |buckets: &[Bucket], id: &str| buckets.iter().find(|of| of.id == id).cloned();
    let difference = |id: &String| BucketDifference {
        id: id.clone(),
        parent: find(&parent, id),
        branch: find(&branch, id),
    };
    Ok(ids
        .into_iter()
        .map(difference)
        .filter(|of| of.parent != of.branch)
        .collect())
}

async fn buckets(project: &Project) -> Result<Vec<Bucket>, PlatformError> {
    let client = project.db.as_owner().await?;
    let sql = "select id, coalesce(public, false) as public, file_size_limit, allowed_mime_types
               from storage.buckets order by id";
    let rows = client.query(sql, &[]).await?;
    let bucket = |row: &tokio_postgres::Row| Bucket {
        id: row.get("id"),
        is_public: row.get("public"),
        file_size_limit: row.get("file_size_limit"),
        allowed_mime_types: row.get("allowed_mime_types"),
    };
    Ok(rows.iter().map(bucket).collect())
}
