//! The auth service, mounted at `/auth/v1`: its schema, its helper functions, and the key set
//! that everybody verifies tokens with (auth contract §2.1, §11).

mod error;
mod routes;
pub mod schema;
mod system;

pub use error::AuthError;
pub use routes::routes;
