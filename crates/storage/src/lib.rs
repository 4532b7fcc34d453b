//! The storage service (storage contract): for now its database schema, with the functions that
//! users' policies and queries call. Tables and functions are described in `migrations/`.

pub mod schema;
