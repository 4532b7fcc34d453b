//! What a request says: its route, its fields, its body, and who sent it.

mod body;
mod body_timeout;
mod context;
mod credentials;
mod fields;
mod file_size;
mod form;
mod mime;
mod robots;
mod route;

pub(crate) use crate::names::{KeyRules, check_bucket, check_key, check_new_bucket};
pub(crate) use body::{body_aborted, close_connection, next_chunk, read_fields, read_small_body};
pub(crate) use body_timeout::BodyTimeout;
pub(crate) use context::{ProjectContext, RequestContext};
pub(crate) use credentials::{caller_from_token, jwt_message};
pub(crate) use fields::Fields;
pub(crate) use file_size::parse_file_size;
pub(crate) use form::{Form, Part};
pub(crate) use mime::{check_allowed_types, check_type, essence};
pub(crate) use robots::check_robots_tag;
pub(crate) use route::{Access, BucketAction, ObjectAction, ObjectPath, Route, percent_decode};
