//! The auth service: its schema, helper functions and key set

pub mod schema;
