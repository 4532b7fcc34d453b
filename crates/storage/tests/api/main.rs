//! The storage service over a real database and a real folder, as its clients see it.

mod buckets;
mod callers;
mod check;
mod conditions;
mod cors;
mod delete;
mod download;
mod errors;
mod info;
mod ledger;
mod list;
mod list_v2;
mod multipart;
mod names;
mod operations;
mod policies;
mod properties;
mod ranges;
mod relocation;
mod seeds;
mod signed_downloads;
mod signed_uploads;
mod support;
mod uploads;
mod writers;
