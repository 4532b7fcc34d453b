//! Resumable uploads through the service's routes, against a real PostgreSQL and a real folder
//! (storage contract §5, §14.4, §14.5).

mod chunks;
mod creation;
mod expiry;
mod leases;
mod permissions;
mod protocol;
mod support;
