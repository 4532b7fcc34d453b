//! A mail sent step by step, to show an operator what the mail server says (console contract N94).
//!
//! The same settings and the same message as [`super::smtp`], which uses a pool of connections that
//! keeps no replies.

use std::time::Duration;

use lettre::{
    Address,
    transport::smtp::{
        Error,
        authentication::{Credentials, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, Tls},
        commands::{Data, Mail, Rcpt},
        extension::ClientId,
        response::Response,
    },
};
use plinth_project::SmtpStep;

use super::{message::Message, smtp};
use crate::{config::SmtpConfig, request::RequestContext};

/// For the whole dialogue.
const TIMEOUT: Duration = Duration::from_secs(20);

/// What was said, and why it failed.
pub(crate) struct Dialogue {
    pub(crate) steps: Vec<SmtpStep>,
    pub(crate) error: Option<String>,
}

/// Sends the mail.
pub(super) async fn hold(
    context: &RequestContext,
    config: &SmtpConfig,
    message: &Message,
) -> Dialogue {
    let mut steps = Vec::new();
    let talk = talk(context, config, message, &mut steps);
    let error = match tokio::time::timeout(TIMEOUT, talk).await {
        Ok(outcome) => outcome.err(),
        Err(_) => Some(format!(
            "The server did not finish within {} seconds",
            TIMEOUT.as_secs()
        )),
    };
    Dialogue { steps, error }
}

async fn talk(
    context: &RequestContext,
    config: &SmtpConfig,
    message: &Message,
    steps: &mut Vec<SmtpStep>,
) -> Result<(), String> {
    let to: Address = message.to.parse().map_err(|_| bad_address(&message.to))?;
    let from: Address = config
        .sender_address
        .parse()
        .map_err(|_| bad_address(&config.sender_address))?;
    let mail = smtp::mail(context, config, to.clone(), message);
    let mail = mail.map_err(|error| error.to_string())?.formatted();
    let hello = ClientId::Domain(smtp::own_host(context));
    let tls = smtp::tls(config).map_err(|error| error.to_string())?;

    let (host, port) = (config.host.as_str(), config.port);
    let wrapped = match &tls {
        Tls::Wrapper(parameters) => Some(parameters.clone()),
        _ => None,
    };
    let opening = match wrapped {
        Some(_) => format!("connect to {host}:{port} with TLS; EHLO {hello}"),
        None => format!("connect to {host}:{port}; EHLO {hello}"),
    };
    let opened =
        AsyncSmtpConnection::connect_tokio1((host, port), Some(TIMEOUT), &hello, wrapped, None);
    let opened = opened.await;
    let described = opened
        .as_ref()
        .map(|connection| connection.server_info().to_string());
    record_text(steps, &opening, described)?;
    let mut connection = opened.map_err(|error| error.to_string())?;

    match tls {
        Tls::Required(parameters) => start_tls(&mut connection, parameters, &hello, steps).await?,
        Tls::Opportunistic(parameters) if connection.can_starttls() => {
            start_tls(&mut connection, parameters, &hello, steps).await?;
        }
        _ => {}
    }
    if let Some(user) = &config.user {
        let password = config.password.as_ref().map(|secret| secret.expose());
        let credentials = Credentials::new(user.clone(), password.unwrap_or_default().to_owned());
        let reply = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
        record(steps, &format!("AUTH as {user}"), reply)?;
    }
    let reply = connection
        .command(Mail::new(Some(from.clone()), vec![]))
        .await;
    record(steps, &format!("MAIL FROM:<{from}>"), reply)?;
    let reply = connection.command(Rcpt::new(to.clone(), vec![])).await;
    record(steps, &format!("RCPT TO:<{to}>"), reply)?;
    let reply = connection.command(Data).await;
    record(steps, "DATA", reply)?;
    let reply = connection.message(&mail).await;
    record(steps, &format!("the message, {} bytes", mail.len()), reply)?;
    // The mail is accepted, whatever the server says now.
    let reply = connection.quit().await;
    _ = record(steps, "QUIT", reply);
    Ok(())
}

async fn start_tls(
    connection: &mut AsyncSmtpConnection,
    parameters: lettre::transport::smtp::client::TlsParameters,
    hello: &ClientId,
    steps: &mut Vec<SmtpStep>,
) -> Result<(), String> {
    let started = connection.starttls(parameters, hello).await;
    let described = started.map(|()| connection.server_info().to_string());
    record_text(
        steps,
        &format!("STARTTLS; EHLO {hello}"),
        described.as_ref().map(String::clone),
    )
}

fn record(
    steps: &mut Vec<SmtpStep>,
    sent: &str,
    reply: Result<Response, Error>,
) -> Result<(), String> {
    let text = reply.as_ref().map(|reply| {
        let lines: Vec<&str> = reply.message().collect();
        format!("{} {}", reply.code(), lines.join("\n"))
    });
    record_text(steps, sent, text)
}

fn record_text(
    steps: &mut Vec<SmtpStep>,
    sent: &str,
    received: Result<String, &Error>,
) -> Result<(), String> {
    let (received, outcome) = match received {
        Ok(text) => (text, Ok(())),
        Err(error) => {
            let text = describe(error);
            (text.clone(), Err(text))
        }
    };
    steps.push(SmtpStep {
        sent: sent.to_owned(),
        received,
    });
    outcome
}

/// With the causes, which say what is wrong with a certificate or an address.
fn describe(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn bad_address(address: &str) -> String {
    format!("{address:?} is not an address that mail servers accept")
}
