//! The managed PostgreSQL server: find, initialise, start, supervise, stop (design §4).
//!
//! [`Server::start`] takes a project's state folder and returns a running server that is reachable
//! only through a private unix socket; [`FrontDoor`] is the TCP port in front of it, which routes by
//! user and database name (console contract F50). Nothing here speaks SQL or knows what a project
//! is: roles, databases and schemas belong to the crates above.

mod account;
pub mod binaries;
mod command;
pub mod config;
mod error;
pub mod front_door;
mod initialise;
mod log_line;
mod password;
mod place;
mod server;

pub use account::Account;
pub use binaries::{Binaries, Source, Version};
pub use error::{Error, Result};
pub use front_door::{FrontDoor, FrontDoorError, Route, Routed};
pub use log_line::{Level, LogEntry};
pub use place::InstanceLock;
pub use server::{Connection, Options, Server, State};
