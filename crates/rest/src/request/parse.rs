//! From the parts of an HTTP request to an [`ApiRequest`] (rest contract §0, steps 4–9).

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::error::RestError;

use super::{
    Action, ApiRequest, CallMethod, Mutation, Payload, QueryParams,
    body::{self, BodyUse},
    media_type::MediaType,
    preferences::Preferences,
    query::{self, QueryRules, pairs},
    range,
};

/// The parts of an HTTP request that are parsed, except the body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestParts<'a> {
    pub(crate) method: &'a Method,
    /// Raw, without the mount point.
    pub(crate) path: &'a str,
    /// Raw, without `?`.
    pub(crate) query: &'a str,
    pub(crate) headers: &'a HeaderMap,
}

/// The settings that parsing depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestRules<'a> {
    /// Exposed schemas, the default one first.
    pub(crate) schemas: &'a [String],
    pub(crate) root: RootMode<'a>,
    pub(crate) allows_tx_override: bool,
}

/// What `/` responds with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RootMode<'a> {
    Document,
    Function(&'a str),
    Disabled,
}

impl ApiRequest {
    /// The order of the steps is part of the contract: the first error is the response.
    pub(crate) fn parse(
        parts: &RequestParts<'_>,
        body: Bytes,
        rules: &RequestRules<'_>,
    ) -> Result<Self, RestError> {
        let resource = Resource::from_path(parts.path, rules.root)?;
        let (schema, is_profile_negotiated) = schema(parts, rules.schemas)?;
        let action = resource.action(parts.method)?;
        let query_rules = QueryRules {
            has_arguments: action.has_query_arguments(),
            has_location: matches!(action, Action::Read { .. }),
        };
        let (query, limits) = query::parse(parts.query, query_rules)?;
        let root_range = range::root_range(parts.method, parts.headers, limits)?;
        let content_type = MediaType::of_request_body(parts.headers);
        let payload = payload(&action, &query, &content_type, body)?;
        Ok(Self {
            action,
            schema,
            is_profile_negotiated,
            query,
            root_range,
            preferences: Preferences::parse(parts.headers, rules.allows_tx_override),
            accept: MediaType::accepted(parts.headers),
            content_type,
            payload,
        })
    }

    /// Whether [`Self::parse`] needs the body.
    pub(crate) fn reads_body(method: &Method, path: &str) -> bool {
        match Resource::from_path(path, RootMode::Function("")) {
            Ok(Resource::Relation(_)) => {
                matches!(*method, Method::POST | Method::PATCH | Method::PUT)
            }
            Ok(Resource::Function(_) | Resource::Schema) => *method == Method::POST,
            Err(_) => false,
        }
    }
}

impl Action {
    /// Whether query parameters can be arguments of a function.
    fn has_query_arguments(&self) -> bool {
        let method = match self {
            Self::Call { method, .. } => *method,
            _ => return false,
        };
        matches!(method, CallMethod::Get | CallMethod::Head)
    }
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Resource {
    Relation(String),
    Function(String),
    Schema,
}

impl Resource {
    fn from_path(path: &str, root: RootMode<'_>) -> Result<Self, RestError> {
        let path = path.strip_prefix('/').unwrap_or(path);
        match path.split_once('/') {
            None if path.is_empty() => match root {
                RootMode::Document => Ok(Self::Schema),
                RootMode::Function(name) => Ok(Self::Function(name.to_owned())),
                RootMode::Disabled => Err(RestError::RootDisabled),
            },
            None => Ok(Self::Relation(decode_segment(path)?)),
            Some((first, second)) if decode_segment(first)? == "rpc" && !second.contains('/') => {
                Ok(Self::Function(decode_segment(second)?))
            }
            Some(_) => Err(RestError::InvalidPath),
        }
    }

    fn action(self, method: &Method) -> Result<Action, RestError> {
        match self {
            Self::Relation(relation) => relation_action(relation, method),
            Self::Function(function) => function_action(function, method),
            Self::Schema => match *method {
                Method::GET => Ok(Action::OpenApi { is_head: false }),
                Method::HEAD => Ok(Action::OpenApi { is_head: true }),
                Method::OPTIONS => Ok(Action::SchemaInfo),
                _ => Err(RestError::UnsupportedMethod(method.to_string())),
            },
        }
    }
}

fn relation_action(relation: String, method: &Method) -> Result<Action, RestError> {
    let mutation = match *method {
        Method::GET | Method::HEAD => {
            let is_head = *method == Method::HEAD;
            return Ok(Action::Read { relation, is_head });
        }
        Method::OPTIONS => return Ok(Action::RelationInfo { relation }),
        Method::POST => Mutation::Insert,
        Method::PATCH => Mutation::Update,
        Method::PUT => Mutation::Upsert,
        Method::DELETE => Mutation::Delete,
        _ => return Err(RestError::UnsupportedMethod(method.to_string())),
    };
    Ok(Action::Mutate { relation, mutation })
}

fn function_action(function: String, method: &Method) -> Result<Action, RestError> {
    let method = match *method {
        Method::GET => CallMethod::Get,
        Method::HEAD => CallMethod::Head,
        Method::POST => CallMethod::Post,
        Method::OPTIONS => return Ok(Action::FunctionInfo { function }),
        _ => return Err(RestError::RpcMethod(method.to_string())),
    };
    Ok(Action::Call { function, method })
}

fn decode_segment(raw: &str) -> Result<String, RestError> {
    let decoded = pairs::decode(raw.as_bytes(), false);
    match pairs::into_text(decoded) {
        Some(text) => Ok(text.into_owned()),
        None => Err(RestError::Unparsable {
            message: "\"failed to parse path\" (line 1, column 1)".to_owned(),
            details: "invalid UTF-8".to_owned(),
        }),
    }
}

/// The schema, and whether the response has `Content-Profile`.
fn schema(parts: &RequestParts<'_>, exposed: &[String]) -> Result<(String, bool), RestError> {
    let header = match *parts.method {
        Method::POST | Method::PATCH | Method::PUT | Method::DELETE => "content-profile",
        _ => "accept-profile",
    };
    let Some(profile) = parts.headers.get(header) else {
        let default = exposed.first().cloned().unwrap_or_default();
        return Ok((default, exposed.len() != 1));
    };
    let schema = String::from_utf8_lossy(profile.as_bytes()).into_owned();
    if exposed.contains(&schema) {
        Ok((schema, true))
    } else {
        Err(RestError::UnknownSchema {
            schema,
            exposed: exposed.to_vec(),
        })
    }
}

fn payload(
    action: &Action,
    query: &QueryParams,
    content_type: &MediaType,
    body: Bytes,
) -> Result<Option<Payload>, RestError> {
    let columns = query.columns.as_ref();
    let (columns, body_use) = match action {
        Action::Mutate { mutation, .. } => match mutation {
            Mutation::Insert | Mutation::Update => (columns, BodyUse::Rows),
            Mutation::Upsert => (None, BodyUse::Rows),
            Mutation::Delete => return Ok(None),
        },
        Action::Call {
            method: CallMethod::Post,
            ..
        } => (columns, BodyUse::Arguments),
        _ => return Ok(None),
    };
    body::parse(body, content_type, columns, body_use).map(Some)
}
