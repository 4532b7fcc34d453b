//! The parts of a Swagger 2.0 document that we use.
//!
//! Members are in alphabetical order; empty ones are left out.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a, Definitions, Parameters, Paths> {
    pub(super) base_path: &'a str,
    pub(super) consumes: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) definitions: Option<Definitions>,
    pub(super) external_docs: ExternalDocs,
    pub(super) host: String,
    pub(super) info: Info<'a>,
    pub(super) parameters: Parameters,
    pub(super) paths: Paths,
    pub(super) produces: &'static [&'static str],
    pub(super) schemes: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) security: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) security_definitions: Option<Value>,
    pub(super) swagger: &'static str,
}

/// An object whose members are generated during serialization. A large schema has tens of
/// thousands, and collecting them first takes longer than writing them.
pub(super) struct Members<F>(pub(super) F);

impl<F, I, K, V> Serialize for Members<F>
where
    F: Fn() -> I,
    I: Iterator<Item = (K, V)>,
    K: Serialize,
    V: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0())
    }
}

fn as_object<K, V, S>(members: &[(K, V)], serializer: S) -> Result<S::Ok, S::Error>
where
    K: Serialize,
    V: Serialize,
    S: Serializer,
{
    serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
}

#[derive(Serialize)]
pub(super) struct ExternalDocs {
    pub(super) description: &'static str,
    pub(super) url: String,
}

#[derive(Serialize)]
pub(super) struct Info<'a> {
    pub(super) description: &'a str,
    pub(super) title: &'a str,
    pub(super) version: &'a str,
}

/// Types of Swagger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum SwaggerType {
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
}

/// The schema of a value; if empty, any value.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Schema<'a> {
    /// `#/definitions/<name>`; excludes all other members.
    #[serde(rename = "$ref", skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<Cow<'a, str>>,
    #[serde(rename = "enum", skip_serializing_if = "<[_]>::is_empty")]
    pub(super) labels: &'a [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<Box<Schema<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_length: Option<i32>,
    #[serde(serialize_with = "as_object", skip_serializing_if = "Vec::is_empty")]
    pub(super) properties: Vec<(&'a str, Schema<'a>)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) required: Vec<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) type_: Option<SwaggerType>,
}

impl Schema<'_> {
    pub(super) fn of_definition(name: &str) -> Self {
        Self {
            reference: Some(format!("#/definitions/{name}")),
            ..Self::default()
        }
    }
}

/// Where a parameter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Location {
    Body,
    Header,
    #[default]
    Query,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parameter<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) collection_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) default: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    #[serde(rename = "enum", skip_serializing_if = "<[_]>::is_empty")]
    pub(super) choices: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<&'a str>,
    #[serde(rename = "in")]
    pub(super) location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) items: Option<Box<Schema<'a>>>,
    pub(super) name: &'a str,
    pub(super) required: bool,
    /// For bodies, instead of a type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Box<Schema<'a>>>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(super) type_: Option<SwaggerType>,
}

/// The key of a parameter in the document.
#[derive(Clone, Copy)]
pub(super) enum ParameterName<'a> {
    Common(&'static str),
    Body { table: &'a str },
    RowFilter { table: &'a str, column: &'a str },
}

impl fmt::Display for ParameterName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Common(name) => f.write_str(name),
            Self::Body { table } => write!(f, "body.{table}"),
            Self::RowFilter { table, column } => write!(f, "rowFilter.{table}.{column}"),
        }
    }
}

impl Serialize for ParameterName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A parameter of an operation: inline, or a reference.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum OperationParameter<'a> {
    Own(Box<Parameter<'a>>),
    Shared {
        #[serde(rename = "$ref", serialize_with = "parameter_reference")]
        name: ParameterName<'a>,
    },
}

impl OperationParameter<'_> {
    pub(super) fn common(name: &'static str) -> Self {
        Self::Shared {
            name: ParameterName::Common(name),
        }
    }
}

fn parameter_reference<S: Serializer>(
    name: &ParameterName<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("#/parameters/{name}"))
}

#[derive(Default, Serialize)]
pub(super) struct PathItem<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) delete: Option<Operation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) get: Option<Operation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<Operation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) post: Option<Operation<'a>>,
}

#[derive(Serialize)]
pub(super) struct Operation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) parameters: Vec<OperationParameter<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) produces: &'static [&'static str],
    /// By status.
    #[serde(serialize_with = "as_object")]
    pub(super) responses: Vec<(&'static str, Response<'a>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) summary: Option<&'a str>,
    pub(super) tags: [Cow<'a, str>; 1],
}

#[derive(Serialize)]
pub(super) struct Response<'a> {
    pub(super) description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Box<Schema<'a>>>,
}

impl Response<'_> {
    pub(super) fn without_body(description: &'static str) -> Self {
        Self {
            description,
            schema: None,
        }
    }
}
