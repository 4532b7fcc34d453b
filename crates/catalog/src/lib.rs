//! What is in a database, and its changes as SQL (console contract §2.7, N7).
//!
//! [`objects`] are what can be listed, with postgres-meta's members; [`read`] reads them; [`statements`]
//! turns requests for changes into SQL text, which it does not run; [`typescript`] describes the database
//! to a client. Who may ask, and the HTTP of it, is `plinth-platform`'s.

pub mod objects;
pub mod read;
pub mod schema;
pub mod statements;
pub mod typescript;
