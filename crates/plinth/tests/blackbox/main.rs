//! The whole program, driven as people and machines drive it: its command line, its ports, its
//! signals, and what happens when the world around it fails. One executable, so that all tests
//! share the machine's cores.

#[path = "../support/mod.rs"]
mod support;

mod branches;
mod commands;
mod database_crash;
mod external_database;
mod failing_migrations;
mod front_door;
mod functions;
mod functions_running;
mod keys_and_tokens;
mod production;
mod project_folder;
mod projects;
mod realtime;
mod refused_starts;
mod resolution;
mod serve_auth;
mod serve_rest;
mod server_crash;
mod settings;
mod several_nodes;
mod start_and_stop;
mod storage_branches;
mod storage_check;
mod storage_cut_off;
mod storage_faults;
mod storage_owner;
mod storage_times;
mod storage_unwell_store;
