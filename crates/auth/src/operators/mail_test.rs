//! A test mail, through the saved mail server or one that is not saved yet (console contract N94).

use plinth_project::{MailDelivery, MailServerSettings, MailTest, MailTestResult};
use plinth_token::Secret;

use super::Outcome;
use crate::{config::SmtpConfig, contact, mail::trial, request::RequestContext};

pub(super) async fn run(context: &RequestContext, test: &MailTest) -> Outcome<MailTestResult> {
    let to = contact::email(test.to.trim())?;
    let saved = context.config.mail.smtp.as_ref();
    let given = test.smtp.as_ref().map(|given| server(given, saved));
    let Some(server) = given.as_ref().or(saved) else {
        let mut db = context.begin().await?;
        trial::store(context, &mut db, &to).await?;
        db.commit().await?;
        return Ok(MailTestResult {
            is_delivered: true,
            delivery: MailDelivery::Mailbox,
            dialogue: Vec::new(),
            error: None,
        });
    };
    let dialogue = trial::send_through(context, server, &to).await;
    Ok(MailTestResult {
        is_delivered: dialogue.error.is_none(),
        delivery: MailDelivery::Smtp,
        dialogue: dialogue.steps,
        error: dialogue.error,
    })
}

/// The saved password goes to the saved server and login only: it cannot be read, and must not be sent
/// to whoever is named here.
fn server(given: &MailServerSettings, saved: Option<&SmtpConfig>) -> SmtpConfig {
    let is_same = |saved: &&SmtpConfig| {
        saved.host == given.host && saved.port == given.port && saved.user == given.user
    };
    let same = saved.filter(is_same);
    let password = match &given.pass {
        Some(password) => Some(Secret::new(password.as_str())),
        None => same.and_then(|saved| saved.password.clone()),
    };
    SmtpConfig {
        host: given.host.clone(),
        port: given.port,
        user: given.user.clone().filter(|user| !user.is_empty()),
        password,
        sender_address: given.admin_email.clone(),
        sender_name: given.sender_name.clone().unwrap_or_default(),
        headers: saved.map(|saved| saved.headers.clone()).unwrap_or_default(),
    }
}
