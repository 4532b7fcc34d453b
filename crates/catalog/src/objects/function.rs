//! Functions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Object;

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentMode {
    /// In.
    In,
    /// Out.
    Out,
    /// Both.
    Inout,
    /// Any number of them.
    Variadic,
    /// A column of the result.
    Table,
}

/// An argument of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionArgument {
    /// How it is passed.
    pub mode: ArgumentMode,
    /// Its name, or nothing.
    pub name: String,
    /// The oid of its type.
    pub type_id: u32,
    /// Whether it may be left out.
    pub has_default: bool,
}

/// What a function may be expected to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Behavior {
    /// The same result for ever.
    Immutable,
    /// The same result within a statement.
    Stable,
    /// Anything.
    Volatile,
}

impl Behavior {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Immutable => "immutable",
            Self::Stable => "stable",
            Self::Volatile => "volatile",
        }
    }
}

/// A function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Its oid.
    pub id: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its language.
    pub language: String,
    /// Its body.
    pub definition: String,
    /// The statement that creates it.
    pub complete_statement: String,
    /// Its arguments.
    pub args: Vec<FunctionArgument>,
    /// The same as in SQL, with defaults.
    pub argument_types: String,
    /// What distinguishes it from its namesakes.
    pub identity_argument_types: String,
    /// The oid of the type that it returns.
    pub return_type_id: u32,
    /// The same as in SQL.
    pub return_type: String,
    /// The oid of the relation whose rows it returns.
    pub return_type_relation_id: Option<u32>,
    /// Whether it returns rows.
    pub is_set_returning_function: bool,
    /// How many, by its definition.
    pub prorows: Option<f64>,
    /// What it may be expected to do.
    pub behavior: Behavior,
    /// Whether it runs with the rights of its owner.
    pub security_definer: bool,
    /// Settings while it runs.
    pub config_params: Option<BTreeMap<String, String>>,
    /// What is said about it.
    pub comment: Option<String>,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for Function {
    const SQL: &'static str = include_str!("../read/sql/functions.sql");
    const KIND: &'static str = "function";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}
