//! The SDK against a scripted server: what a live server does not do on demand.

mod admin;
mod claims;
mod events;
mod functions;
mod loading;
mod realtime;
mod refreshing;
mod rest;
mod rest_sending;
mod secrets;
mod sign_in;
mod storage;
mod storage_resumable;
mod support;
mod ticker;
mod transport;
mod user;
