//! Logical replication over our own driver, against a real PostgreSQL.

mod changes;
mod identity;
mod positions;
mod restart;
mod slots;
mod support;
