//! What can be altered of an object, apart from the statement that makes it.

use std::collections::BTreeMap;

use tokio_postgres::Row;

/// A table or foreign table.
pub(crate) struct Table {
    /// Qualified and quoted.
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) persistence: String,
    pub(crate) is_partition: bool,
    pub(crate) of_type: Option<String>,
    pub(crate) partition_key: Option<String>,
    pub(crate) access_method: Option<String>,
    pub(crate) tablespace: Option<String>,
    pub(crate) parents: Vec<String>,
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) server: Option<String>,
    pub(crate) foreign_options: BTreeMap<String, String>,
    pub(crate) has_row_security: bool,
    pub(crate) forces_row_security: bool,
    pub(crate) replica_identity: String,
    pub(crate) clustered_on: Option<String>,
    /// Checks that a partition has of its parent alone, as definitions.
    pub(crate) inherited_checks: Vec<String>,
    pub(crate) columns: Vec<Column>,
}

impl Table {
    pub(crate) fn from_row(row: &Row) -> Self {
        Self {
            name: row.get("name"),
            kind: row.get("kind"),
            persistence: row.get("persistence"),
            is_partition: row.get("is_partition"),
            of_type: row.get("of_type"),
            partition_key: row.get("partition_key"),
            access_method: row.get("access_method"),
            tablespace: row.get("tablespace"),
            parents: row.get("parents"),
            options: options(row, "option_names", "option_values"),
            server: row.get("server"),
            foreign_options: options(row, "foreign_names", "foreign_values"),
            has_row_security: row.get("has_row_security"),
            forces_row_security: row.get("forces_row_security"),
            replica_identity: row.get("replica_identity"),
            clustered_on: row.get("clustered_on"),
            inherited_checks: row.get("inherited_checks"),
            columns: Vec::new(),
        }
    }

    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// A column of a table.
#[derive(Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) quoted: String,
    pub(crate) type_name: String,
    /// Other than the type's own.
    pub(crate) collation: Option<String>,
    pub(crate) full_collation: Option<String>,
    pub(crate) generated: Option<String>,
    pub(crate) generated_kind: String,
    pub(crate) identity: String,
    pub(crate) identity_options: Option<String>,
    pub(crate) identity_sequence: Option<String>,
    pub(crate) is_not_null: bool,
    /// From PostgreSQL 18 on.
    pub(crate) not_null_name: Option<String>,
    pub(crate) not_null_only_here: bool,
    pub(crate) is_local: bool,
    pub(crate) parents: i32,
    pub(crate) storage: Option<String>,
    pub(crate) default_storage: String,
    pub(crate) compression: Option<String>,
    pub(crate) statistics: Option<i32>,
    pub(crate) options: BTreeMap<String, String>,
    pub(crate) foreign_options: BTreeMap<String, String>,
}

impl Column {
    pub(crate) fn from_row(row: &Row) -> Self {
        Self {
            name: row.get("name"),
            quoted: row.get("quoted"),
            type_name: row.get("type"),
            collation: row.get("collation"),
            full_collation: row.get("full_collation"),
            generated: row.get("generated"),
            generated_kind: row.get("generated_kind"),
            identity: row.get("identity"),
            identity_options: row.get("identity_options"),
            identity_sequence: row.get("identity_sequence"),
            is_not_null: row.get("is_not_null"),
            not_null_name: row.get("not_null_name"),
            not_null_only_here: row.get("not_null_only_here"),
            is_local: row.get("is_local"),
            parents: row.get("parents"),
            storage: row.get("storage"),
            default_storage: row.get("default_storage"),
            compression: row.get("compression"),
            statistics: row.get("statistics"),
            options: options(row, "option_names", "option_values"),
            foreign_options: options(row, "foreign_names", "foreign_values"),
        }
    }

    /// As in `add column`, without a default.
    pub(crate) fn definition(&self) -> String {
        let mut text = format!("{} {}", self.quoted, self.type_name);
        if let Some(collation) = &self.collation {
            text.push_str(&format!(" collate {collation}"));
        }
        if let Some(expression) = &self.generated {
            text.push_str(&format!(
                " generated always as ({expression}) {}",
                self.generated_kind_word()
            ));
        }
        if let Some(identity) = self.identity_clause() {
            text.push_str(&format!(" {identity}"));
        }
        if self.is_not_null {
            if let Some(name) = &self.not_null_name {
                text.push_str(&format!(" constraint {name}"));
            }
            text.push_str(" not null");
            if self.not_null_only_here {
                text.push_str(" no inherit");
            }
        }
        text
    }

    pub(crate) fn generated_kind_word(&self) -> &'static str {
        if self.generated_kind == "v" {
            "virtual"
        } else {
            "stored"
        }
    }

    pub(crate) fn identity_word(&self) -> &'static str {
        if self.identity == "a" {
            "always"
        } else {
            "by default"
        }
    }

    /// As in `add generated …`, without its first word.
    pub(crate) fn identity_clause(&self) -> Option<String> {
        let options = self.identity_options.as_ref()?;
        let sequence = self.identity_sequence.as_ref()?;
        Some(format!(
            "generated {} as identity (sequence name {sequence} {options})",
            self.identity_word()
        ))
    }

    pub(crate) fn has_type_of(&self, other: &Self) -> bool {
        self.type_name == other.type_name && self.full_collation == other.full_collation
    }
}

/// A composite type: names and types of its attributes.
pub(crate) struct Composite {
    pub(crate) names: Vec<String>,
    pub(crate) types: Vec<String>,
}

/// A domain without its checks.
pub(crate) struct Domain {
    pub(crate) base: String,
    pub(crate) default: Option<String>,
    pub(crate) is_not_null: bool,
}

/// What `create or replace function` cannot change.
pub(crate) struct Function {
    pub(crate) fixed: String,
    pub(crate) defaults: i32,
}

/// Where an extension is and which version.
pub(crate) struct Extension {
    pub(crate) schema: String,
    pub(crate) version: String,
}

fn options(row: &Row, names: &str, values: &str) -> BTreeMap<String, String> {
    let names: Vec<String> = row.get(names);
    let values: Vec<String> = row.get(values);
    names.into_iter().zip(values).collect()
}
