//! Every kind of object that is dumped, with its catalog query.
//!
//! Each query returns `class`, `object`, `name`, `relation` and `sql`: the object's address in the
//! catalog, its display name, the table that it belongs to if any, and its statement. Objects with
//! OIDs below 16384 belong to the server itself and exist already.

use crate::order::Phase;

/// A kind of statement.
pub(crate) struct Kind {
    /// Its display name.
    pub(crate) name: &'static str,
    pub(crate) phase: Phase,
    /// Its order within the phase, where dependencies do not decide.
    pub(crate) rank: u8,
    pub(crate) role: Role,
    /// How members of extensions are treated.
    pub(crate) of_extensions: OfExtensions,
    pub(crate) query: &'static str,
}

/// What a statement does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Creates the object, in its own phase.
    Makes,
    /// Creates the object, in a later phase if necessary.
    MakesWhenPossible,
    /// Refers to an object that another statement creates.
    Completes,
}

/// Extensions create their members, but not later changes to them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfExtensions {
    Skipped,
    Kept,
}

use OfExtensions::{Kept, Skipped};
use Phase::{Future, Refresh, Rights, Rules, Shape, Watch};
use Role::{Completes, Makes, MakesWhenPossible};

macro_rules! kinds {
    ($($phase:ident $rank:literal $role:ident $of:ident $name:literal $file:literal)*) => {
        &[$(Kind {
            name: $name,
            phase: $phase,
            rank: $rank,
            role: $role,
            of_extensions: $of,
            query: include_str!(concat!("sql/", $file, ".sql")),
        }),*]
    };
}

/// In the order that applies without dependencies.
#[rustfmt::skip]
pub(crate) const KINDS: &[Kind] = kinds! {
    Shape   10 Makes             Skipped "schema"                       "schemas"
    Shape   12 Makes             Skipped "extension"                    "extensions"
    Shape   14 Makes             Skipped "collation"                    "collations"
    Shape   20 Makes             Skipped "enum type"                    "enums"
    Shape   20 Makes             Skipped "composite type"               "composites"
    Shape   20 Makes             Skipped "domain"                       "domains"
    Shape   20 Makes             Skipped "range type"                   "ranges"
    Shape   30 Makes             Skipped "sequence"                     "sequences"
    Shape   40 MakesWhenPossible Skipped "function"                     "functions"
    Shape   42 MakesWhenPossible Skipped "aggregate"                    "aggregates"
    Shape   44 Makes             Skipped "access method"                "access_methods"
    Shape   46 MakesWhenPossible Skipped "operator"                     "operators"
    Shape   48 MakesWhenPossible Skipped "operator family"              "operator_families"
    Shape   50 MakesWhenPossible Skipped "operator class"               "operator_classes"
    Shape   52 MakesWhenPossible Skipped "member of an operator family" "operator_family_members"
    Shape   54 MakesWhenPossible Skipped "cast"                         "casts"
    Shape   56 MakesWhenPossible Skipped "conversion"                   "conversions"
    Shape   58 MakesWhenPossible Skipped "transform"                    "transforms"
    Shape   60 MakesWhenPossible Skipped "text search dictionary"       "text_search_dictionaries"
    Shape   62 MakesWhenPossible Skipped "text search configuration"    "text_search_configurations"
    Shape   64 Makes             Skipped "foreign-data wrapper"         "foreign_data_wrappers"
    Shape   66 Makes             Skipped "foreign server"               "foreign_servers"
    Shape   68 Makes             Skipped "user mapping"                 "user_mappings"
    Shape   70 Makes             Skipped "table"                        "tables"
    Shape   72 Completes         Skipped "partition"                    "partitions"
    Shape   74 MakesWhenPossible Skipped "default"                      "defaults"
    Shape   76 Completes         Skipped "owner of the sequence"        "sequence_owners"
    Shape   80 MakesWhenPossible Skipped "view"                         "views"
    Shape   80 MakesWhenPossible Skipped "materialized view"            "materialized_views"
    Shape   82 Makes             Skipped "large object"                 "large_objects"
    // Nothing before this runs a check of a user's domain in the administrator's session.
    Shape   90 MakesWhenPossible Skipped "check of the domain"          "domain_checks"
    Shape   92 MakesWhenPossible Skipped "check of the table"           "checks"

    Rights  10 Completes         Kept    "rights on"                    "privileges"
    Rights  20 Completes         Skipped "comment on"                   "comments"
    Rights  30 Completes         Kept    "security label on"            "security_labels"

    Rules   10 MakesWhenPossible Skipped "check of the domain"          "domain_checks_not_valid"
    Rules   12 MakesWhenPossible Skipped "check of the table"           "checks_not_valid"
    Rules   14 MakesWhenPossible Skipped "not-null constraint"          "not_null_not_valid"
    Rules   20 Makes             Skipped "constraint"                   "constraints"
    Rules   22 Makes             Skipped "index"                        "indexes"
    Rules   24 Completes         Skipped "index of a partition"         "index_partitions"
    Rules   26 Completes         Skipped "settings of the index"        "index_settings"
    Rules   30 Makes             Skipped "statistics"                   "statistics"
    Rules   40 Makes             Skipped "foreign key"                  "foreign_keys"
    Rules   50 Makes             Skipped "rule"                         "rules"
    Rules   52 Makes             Skipped "trigger"                      "triggers"
    Rules   54 Makes             Kept    "policy"                       "policies"
    Rules   56 Completes         Skipped "settings of the table"        "table_settings"
    Rules   60 Makes             Skipped "publication"                  "publications"
    Rules   62 Makes             Skipped "table of a publication"       "publication_tables"
    Rules   64 Makes             Skipped "schema of a publication"      "publication_schemas"
    Rules   70 Completes         Kept    "dependency of"                "extension_dependents"

    Refresh 10 Completes         Skipped "rows of the materialized view" "refreshes"
    Future  10 Makes             Skipped "default privileges of"        "default_privileges"
    Watch   10 Makes             Skipped "event trigger"                "event_triggers"
};
