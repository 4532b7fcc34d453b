//! The table of built-in providers, and how their profiles are read (auth contract §6.1, §6.2).
//!
//! A provider is a row of `table.rs`. What cannot be expressed as data is a function in
//! `quirks.rs`.

pub(super) mod azure;
pub(super) mod profile;
mod quirks;
pub(super) mod spec;
pub(super) mod table;
#[cfg(test)]
mod tests;

pub(super) use profile::{MissingSubject, Profile};
pub(super) use spec::Spec;
