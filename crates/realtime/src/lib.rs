//! The realtime service (realtime contract): for now its database schema, with the functions that
//! users call to broadcast from SQL. Tables and functions are described in `migrations/`.

pub mod schema;
