//! Sends mail by SMTP.
//!
//! Port 465 uses TLS from the start. On other ports STARTTLS is used if the server offers it; with
//! a password it is required, except on localhost.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Tokio1Executor,
    message::{
        Mailbox, MultiPart,
        header::{HeaderName, HeaderValue},
    },
    transport::smtp::{
        authentication::Credentials,
        client::{Tls, TlsParameters},
        extension::ClientId,
    },
};
use url::Url;

use super::message::Message;
use crate::{AuthConfig, AuthError, config::SmtpConfig, request::RequestContext};

type Transport = AsyncSmtpTransport<Tokio1Executor>;
pub(super) type Failure = Box<dyn std::error::Error + Send + Sync>;

const IMPLICIT_TLS_PORT: u16 = 465;

/// The transport, and the settings that it was made from.
#[derive(Default)]
pub(super) struct Server(Mutex<Option<(Arc<AuthConfig>, Transport)>>);

/// Sends the mail and waits until the server has accepted it.
pub(super) async fn send(
    context: &RequestContext,
    config: &SmtpConfig,
    message: &Message,
) -> Result<(), AuthError> {
    let to = message.to.parse::<Address>();
    let to = to.map_err(|_| AuthError::email_address_invalid(&message.to))?;
    let failed = |error: Failure| {
        // Servers repeat the recipient in errors, and logs must not contain addresses.
        let cause = error.to_string().replace(&message.to, "<recipient>");
        AuthError::internal(message.kind.failure(), cause)
    };
    let mail = mail(context, config, to, message).map_err(failed)?;
    let transport = context.state.mail.server.get(context, config);
    let transport = transport.map_err(failed)?;
    let sent = tokio::time::timeout(context.config.http_timeout, transport.send(mail)).await;
    match sent {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(failed(error.into())),
        Err(_) => Err(failed("timeout waiting for the mail server".into())),
    }
}

impl Server {
    /// The transport; created again when the settings have changed.
    fn get(&self, context: &RequestContext, config: &SmtpConfig) -> Result<Transport, Failure> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_from, transport)) = &*held
            && Arc::ptr_eq(made_from, &context.config)
        {
            return Ok(transport.clone());
        }
        let transport = transport(context, config)?;
        *held = Some((context.config.clone(), transport.clone()));
        Ok(transport)
    }
}

fn transport(context: &RequestContext, config: &SmtpConfig) -> Result<Transport, Failure> {
    let mut builder = Transport::builder_dangerous(&config.host)
        .port(config.port)
        .tls(tls(config)?)
        .timeout(Some(context.config.http_timeout))
        .hello_name(ClientId::Domain(own_host(context)));
    if let Some(user) = &config.user {
        let password = config.password.as_ref().map(|secret| secret.expose());
        let password = password.unwrap_or_default().to_owned();
        builder = builder.credentials(Credentials::new(user.clone(), password));
    }
    Ok(builder.build())
}

/// The TLS mode.
pub(super) fn tls(config: &SmtpConfig) -> Result<Tls, Failure> {
    let parameters = TlsParameters::new(config.host.clone())?;
    Ok(match (config.port, &config.user) {
        (IMPLICIT_TLS_PORT, _) => Tls::Wrapper(parameters),
        (_, Some(_)) if !is_this_machine(&config.host) => Tls::Required(parameters),
        _ => Tls::Opportunistic(parameters),
    })
}

fn is_this_machine(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

/// The host name for EHLO and message ids.
pub(super) fn own_host(context: &RequestContext) -> String {
    let url = Url::parse(&context.external_url).ok();
    let host = url.as_ref().and_then(Url::host_str);
    host.unwrap_or("localhost").to_owned()
}

pub(super) fn mail(
    context: &RequestContext,
    config: &SmtpConfig,
    to: Address,
    message: &Message,
) -> Result<lettre::Message, Failure> {
    let name = one_line(&config.sender_name);
    let name = Some(name).filter(|name| !name.is_empty());
    let from = Mailbox::new(name, config.sender_address.parse()?);
    let id = format!("<{}@{}>", uuid::Uuid::new_v4().simple(), own_host(context));
    let mut builder = lettre::Message::builder()
        .from(from)
        .to(Mailbox::new(None, to))
        .subject(&message.subject)
        .message_id(Some(id))
        .date(SystemTime::from(context.now));
    for (name, value) in &config.headers {
        let Ok(name) = HeaderName::new_from_ascii(name.clone()) else {
            tracing::warn!("{name:?} is not a valid header name; mails are sent without it");
            continue;
        };
        let value = one_line(&value.replace("$messageType", message.kind.message_type()));
        builder = builder.raw_header(HeaderValue::new(name, value));
    }
    let body = MultiPart::alternative_plain_html(message.text.clone(), message.html.clone());
    Ok(builder.multipart(body)?)
}

/// A line break would begin another header.
fn one_line(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls_of(host: &str, port: u16, user: Option<&str>) -> Tls {
        let config = SmtpConfig {
            host: host.to_owned(),
            port,
            user: user.map(str::to_owned),
            password: None,
            sender_name: String::new(),
            sender_address: "office@site.test".to_owned(),
            headers: Vec::new(),
        };
        tls(&config).expect("the system has trusted roots")
    }

    #[test]
    fn tls_begins_as_the_port_and_the_secret_want_it() {
        for user in [None, Some("me")] {
            assert!(matches!(tls_of("mail.dev", 465, user), Tls::Wrapper(_)));
        }
        let with_password = tls_of("mail.dev", 587, Some("me"));
        assert!(matches!(with_password, Tls::Required(_)));
        assert!(matches!(
            tls_of("mail.dev", 25, None),
            Tls::Opportunistic(_)
        ));
        let here = tls_of("localhost", 1025, Some("me"));
        assert!(matches!(here, Tls::Opportunistic(_)));
    }
}
