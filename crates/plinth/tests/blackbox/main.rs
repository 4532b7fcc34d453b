//! The whole program, driven as people and machines drive it: its command line, its ports, its
//! signals, and what happens when the world around it fails. One executable, so that all tests
//! share the machine's cores.

#[path = "../support/mod.rs"]
mod support;

mod api_keys;
mod auth_limits;
mod branches;
mod commands;
mod connections;
mod console;
mod database_crash;
mod database_proxy;
mod external_database;
mod failed_starts;
mod failing_migrations;
mod full_disk;
mod functions;
mod functions_running;
mod gotrue;
mod isolated_projects;
mod isolation;
mod keys_and_tokens;
mod production;
mod project_folder;
mod projects;
mod realtime;
mod resolution;
mod serve_auth;
mod serve_rest;
mod server_crash;
mod settings;
mod several_nodes;
mod start_and_stop;
mod storage_branches;
mod storage_check;
mod storage_faults;
mod storage_kill;
mod storage_owner;
mod storage_times;
mod storage_unavailable_store;
