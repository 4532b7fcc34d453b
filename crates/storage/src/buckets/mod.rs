//! Buckets (storage contract §2).

mod change;
mod read;
mod rules;

pub(crate) use change::{create, delete, empty, update};
pub(crate) use read::{get, list};
pub(crate) use rules::BucketRules;
