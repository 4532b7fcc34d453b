//! The auth service against a real Postgres, request by request.

mod support;
mod system;
