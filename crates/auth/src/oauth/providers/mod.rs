//! The table of providers, and what their answers mean (auth contract §6.1, §6.2).
//!
//! A provider is a row of `table.rs`. What a row cannot say as data is a function in `quirks.rs`.

pub(super) mod azure;
pub(super) mod profile;
mod quirks;
pub(super) mod spec;
pub(super) mod table;
#[cfg(test)]
mod tests;

pub(super) use profile::{Nobody, Profile};
pub(super) use spec::Spec;
