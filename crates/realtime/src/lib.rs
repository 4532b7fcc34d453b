//! The realtime service (realtime contract): its database schema, with the functions that users
//! call to broadcast from SQL, and what subscribers of tables ask for and are told (`changes`).
//! Tables and functions are described in `migrations/`.

pub mod changes;
pub mod schema;
