//! What a request says: its route, its fields, and on whose behalf.

mod context;
mod fields;
mod file_size;
mod form;
mod mime;
mod names;
mod pace;
mod robots;
mod route;

pub(crate) use context::{Context, aborted, caller_of_token, closing, read_fields, read_small};
pub(crate) use fields::{Fields, MAX_JSON_BYTES};
pub(crate) use file_size::parse_file_size;
pub(crate) use form::{Form, Part};
pub(crate) use mime::{check_allowed, check_type, essence};
pub(crate) use names::{check_bucket, check_key, check_new_bucket};
pub(crate) use pace::{Pace, broken};
pub(crate) use robots::check_robots_tag;
pub(crate) use route::{Access, BucketAction, ObjectAction, Place, Route, decode};
