//! The auth service against a real Postgres, request by request.

mod captcha;
mod cleanup;
mod hooks;
mod limits;
mod logout;
mod mail;
mod mailbox;
mod oauth;
mod one_time_tokens;
mod otp;
mod password_grant;
mod pkce;
mod recover;
mod refresh;
mod sign_up;
mod sms;
mod support;
mod system;
mod user;
mod verify;
