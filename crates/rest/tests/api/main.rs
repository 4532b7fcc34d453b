//! The REST service over real databases, as its clients see it: requests in, whole responses out.

mod calls;
mod changes;
mod concurrency;
mod errors;
mod faults;
mod headers;
mod pitfalls;
mod policies;
mod properties;
mod reads;
mod schema_changes;
mod success_matrix;
mod support;
mod tokens;
mod transactions;
mod vectors;
