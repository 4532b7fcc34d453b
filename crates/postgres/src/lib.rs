//! The managed PostgreSQL server: find, initialise, start, supervise, stop (design §4).
//!
//! [`Server::start`] takes a project's state folder and returns a running server that is reachable
//! only through a private unix socket; [`DatabaseProxy`] is the TCP port in front of it and routes by
//! user and database name (console contract F50). Nothing here speaks SQL or knows what a project
//! is: roles, databases and schemas belong to the crates above.

mod account;
pub mod binaries;
mod command;
pub mod config;
mod error;
mod initialise;
mod layout;
mod log_line;
mod password;
pub mod proxy;
mod server;

pub use account::Account;
pub use binaries::{Binaries, Source, Version};
pub use error::{Error, Result};
pub use layout::{InstanceLock, remove_cluster};
pub use log_line::{Level, LogEntry};
pub use proxy::{
    ConnectionLimit, DatabaseProxy, DatabaseProxyError, ErrorResponse, OtherServer,
    OtherServerFuture, Route, Routed, Sqlstate,
};
pub use server::{Connection, Options, Server, State};
