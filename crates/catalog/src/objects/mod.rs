//! What is in a database, with the members that postgres-meta gives its objects (console contract F40).
//!
//! Members that postgres-meta does not have come last in a struct. Numbers of the catalog (`oid`) are
//! the ids, as there.

mod column;
mod constraint;
mod extension;
mod function;
mod index;
mod policy;
mod privileges;
mod publication;
mod relation;
mod role;
mod schema;
mod server;
mod trigger;
mod types;

use serde::{Serialize, de::DeserializeOwned};

pub use column::{Column, ColumnId, IdentityGeneration};
pub use constraint::{Constraint, ConstraintKind, ReferentialAction};
pub use extension::Extension;
pub use function::{ArgumentMode, Behavior, Function, FunctionArgument};
pub use index::{Index, IndexAttribute};
pub use policy::{Policy, PolicyAction, PolicyCommand};
pub use privileges::{ColumnPrivileges, GrantedPrivilege, RelationKind, RelationPrivileges};
pub use publication::{Publication, PublishedTable};
pub use relation::{
    ForeignTable, MaterializedView, PrimaryKeyColumn, RelationshipColumn, ReplicaIdentity, Table,
    View,
};
pub use role::Role;
pub use schema::Schema;
pub use server::{ServerSetting, ServerVersion};
pub use trigger::{EnabledMode, Orientation, Timing, Trigger};
pub use types::{Attribute, TypeKind, UserType};

/// One kind of object that can be listed.
pub trait Object: DeserializeOwned + Serialize + Send + Sync + 'static {
    /// Selects one text per object, its JSON. Parameters: `$1` whether to include objects of system
    /// schemas, `$2` their ids (null for all), `$3` whether to leave out what the session's role may
    /// not read.
    const SQL: &'static str;
    /// The kind in messages, such as `table`.
    const KIND: &'static str;
    /// Whether event triggers announce its changes, so that lists may be kept.
    const IS_ANNOUNCED: bool;
    /// For how many seconds at most. Roles are renamed without an announcement, since they belong to the
    /// whole cluster.
    const MAX_AGE_SECONDS: u64 = 60;
    /// Selects a text that is another one after changes that nobody announces. `$1` as in
    /// [`Object::SQL`].
    const FINGERPRINT: Option<&'static str> = None;

    /// Its schema, if it is in one.
    fn schema(&self) -> Option<&str>;

    /// Completes what was read.
    fn complete(&mut self) {}
}
