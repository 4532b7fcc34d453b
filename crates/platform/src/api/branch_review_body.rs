//! The answer of a branch's review.

use plinth_diff::Changes;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    Branch,
    branch_review::{
        Bucket, BucketDifference, Conflict, FunctionDifference, Review, SettingDifference,
    },
    user_migrations::StoredMigration,
};

/// The answer of a review.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReviewBody {
    branch: BranchReference,
    /// Names this state; a merge of what no migration records needs it.
    review_token: String,
    /// Whether the parent changed meanwhile: the branch has to be rebased before it can be merged.
    has_moved_on: bool,
    is_empty: bool,
    is_destructive: bool,
    /// All changes of the schema, in the order in which they can be run.
    sql: String,
    objects: Vec<ObjectBody>,
    /// What cannot be compared, one sentence each.
    notes: Vec<String>,
    migrations: MigrationsBody,
    functions: Vec<FunctionBody>,
    /// Settings and buckets are shown; a merge leaves them alone.
    settings: Vec<SettingBody>,
    buckets: Vec<BucketBody>,
    conflicts: Vec<ConflictBody>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BranchReference {
    id: Uuid,
    name: String,
    project_ref: String,
    parent_project_ref: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ObjectBody {
    kind: String,
    schema: Option<String>,
    name: String,
    /// `create`, `alter` or `drop`.
    action: String,
    is_destructive: bool,
    sql: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct MigrationsBody {
    /// Those that a merge runs.
    pending: Vec<MigrationBody>,
    /// Those of the parent that a rebase brings to the branch.
    missing: Vec<MigrationBody>,
}

#[derive(Debug, Serialize, Deserialize)]
struct MigrationBody {
    version: String,
    name: Option<String>,
    statements: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct FunctionBody {
    slug: String,
    /// `new`, `changed` or `only_in_parent`.
    change: String,
    branch_digest: Option<String>,
    parent_digest: Option<String>,
    changes_settings: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct SettingBody {
    name: String,
    parent: Option<String>,
    branch: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BucketBody {
    id: String,
    parent: Option<BucketSettings>,
    branch: Option<BucketSettings>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BucketSettings {
    public: bool,
    file_size_limit: Option<i64>,
    allowed_mime_types: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct ConflictBody {
    object: String,
    /// What happened to it in the parent: `create`, `alter` or `drop`.
    in_parent: String,
    /// The same in the branch, if anything did.
    in_branch: Option<String>,
}

impl ReviewBody {
    pub(super) fn new(branch: Branch, review: Review) -> Self {
        let has_moved_on = review.has_moved_on();
        Self {
            is_empty: review.is_empty(),
            has_moved_on,
            is_destructive: review.changes.is_destructive(),
            sql: review.changes.to_sql(),
            objects: objects(&review.changes),
            notes: review.changes.notes,
            review_token: review.token,
            branch: BranchReference {
                id: branch.id,
                name: branch.name,
                project_ref: branch.reference.to_string(),
                parent_project_ref: branch.parent.to_string(),
            },
            migrations: MigrationsBody {
                pending: review.pending.into_iter().map(migration).collect(),
                missing: review.missing.into_iter().map(migration).collect(),
            },
            functions: review.functions.into_iter().map(function).collect(),
            settings: review.settings.into_iter().map(setting).collect(),
            buckets: review.buckets.into_iter().map(bucket).collect(),
            conflicts: review.conflicts.into_iter().map(conflict).collect(),
        }
    }
}

fn objects(changes: &Changes) -> Vec<ObjectBody> {
    let groups = changes.by_object().into_iter();
    groups
        .map(|group| ObjectBody {
            kind: group.object.kind,
            schema: group.object.schema,
            name: group.object.name,
            action: group.action.as_str().to_owned(),
            is_destructive: group.is_destructive,
            sql: group.sql,
        })
        .collect()
}

fn migration(migration: StoredMigration) -> MigrationBody {
    MigrationBody {
        version: migration.version,
        name: migration.name,
        statements: migration.statements,
    }
}

fn function(difference: FunctionDifference) -> FunctionBody {
    FunctionBody {
        slug: difference.slug,
        change: difference.change.as_str().to_owned(),
        branch_digest: difference.branch_digest,
        parent_digest: difference.parent_digest,
        changes_settings: difference.changes_settings,
    }
}

fn setting(difference: SettingDifference) -> SettingBody {
    SettingBody {
        name: difference.name,
        parent: difference.parent,
        branch: difference.branch,
    }
}

fn bucket(difference: BucketDifference) -> BucketBody {
    let settings = |bucket: Bucket| BucketSettings {
        public: bucket.is_public,
        file_size_limit: bucket.file_size_limit,
        allowed_mime_types: bucket.allowed_mime_types,
    };
    BucketBody {
        id: difference.id,
        parent: difference.parent.map(settings),
        branch: difference.branch.map(settings),
    }
}

fn conflict(conflict: Conflict) -> ConflictBody {
    ConflictBody {
        object: conflict.object,
        in_parent: conflict.in_parent.as_str().to_owned(),
        in_branch: conflict.in_branch.map(|action| action.as_str().to_owned()),
    }
}
