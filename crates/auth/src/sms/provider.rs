//! The providers: what each wants to be asked, and how it answers.

use serde_json::{Value, json};

use super::{
    Channel, Message,
    call::{Answer, Proof, Request},
};
use crate::{config::SmsProvider, request::contact};

/// The call that sends `text`.
pub(super) fn message(provider: &SmsProvider, message: &Message<'_>, text: &str) -> Request {
    let phone = message.phone.to_owned();
    let text = text.to_owned();
    match provider {
        SmsProvider::Twilio {
            base_url,
            account_sid,
            auth_token,
            message_service_sid,
            content_sid,
        } => Request {
            url: format!("{base_url}/2010-04-01/Accounts/{account_sid}/Messages.json"),
            proof: Proof::Basic(account_sid.clone(), auth_token.clone()),
            form: twilio_form(message, text, message_service_sid, content_sid.as_deref()),
        },
        SmsProvider::TwilioVerify {
            base_url,
            account_sid,
            auth_token,
            message_service_sid,
        } => Request {
            url: format!("{base_url}/v2/Services/{message_service_sid}/Verifications"),
            proof: Proof::Basic(account_sid.clone(), auth_token.clone()),
            form: vec![
                ("To", format!("+{phone}")),
                ("Channel", message.channel.as_str().to_owned()),
            ],
        },
        SmsProvider::MessageBird {
            base_url,
            access_key,
            originator,
        } => Request {
            url: format!("{base_url}/messages"),
            proof: Proof::AccessKey(access_key.clone()),
            form: vec![
                ("originator", originator.clone()),
                ("body", text),
                ("recipients", phone),
                ("type", "sms".to_owned()),
                ("datacoding", "unicode".to_owned()),
            ],
        },
        SmsProvider::Textlocal {
            base_url,
            api_key,
            sender,
        } => Request {
            url: format!("{base_url}/send"),
            proof: Proof::InForm,
            form: vec![
                ("sender", sender.clone()),
                ("apikey", api_key.expose().to_owned()),
                ("message", text),
                ("numbers", phone),
            ],
        },
        SmsProvider::Vonage {
            base_url,
            api_key,
            api_secret,
            from,
        } => {
            let is_unicode = !text.is_ascii();
            let mut form = vec![
                ("from", from.clone()),
                ("to", phone),
                ("text", text),
                ("api_key", api_key.clone()),
                ("api_secret", api_secret.expose().to_owned()),
            ];
            if is_unicode {
                form.push(("type", "unicode".to_owned()));
            }
            Request {
                url: format!("{base_url}/sms/json"),
                proof: Proof::InForm,
                form,
            }
        }
    }
}

/// WhatsApp has prefixes of its own, and templates that WhatsApp approved.
fn twilio_form(
    message: &Message<'_>,
    text: String,
    sender: &str,
    content_sid: Option<&str>,
) -> Vec<(&'static str, String)> {
    let channel = message.channel.as_str();
    let to = format!("+{}", message.phone);
    if message.channel == Channel::Sms {
        return vec![
            ("To", to),
            ("Channel", channel.to_owned()),
            ("From", sender.to_owned()),
            ("Body", text),
        ];
    }
    let from = match contact::phone(sender) {
        Ok(_) => format!("{channel}:{sender}"),
        Err(_) => sender.to_owned(),
    };
    let mut form = vec![
        ("To", format!("{channel}:{to}")),
        ("Channel", channel.to_owned()),
        ("From", from),
    ];
    match content_sid {
        Some(content) => {
            form.push(("ContentSid", content.to_owned()));
            form.push(("ContentVariables", json!({ "1": message.otp }).to_string()));
        }
        None => form.push(("Body", text)),
    }
    form
}

/// The call that asks whether a code is right, of the provider that makes codes itself.
pub(super) fn check(provider: &SmsProvider, phone: &str, code: &str) -> Option<Request> {
    let SmsProvider::TwilioVerify {
        base_url,
        account_sid,
        auth_token,
        message_service_sid,
    } = provider
    else {
        return None;
    };
    Some(Request {
        url: format!("{base_url}/v2/Services/{message_service_sid}/VerificationCheck"),
        proof: Proof::Basic(account_sid.clone(), auth_token.clone()),
        form: vec![("To", format!("+{phone}")), ("Code", code.to_owned())],
    })
}

/// Whether that code was right.
pub(super) fn is_approved(answer: &Answer) -> bool {
    answer.is_success()
        && answer.body["status"] == "approved"
        && answer.body["valid"].as_bool() == Some(true)
}

/// The provider's name for a message that it took, or why it did not.
pub(super) fn message_id(provider: &SmsProvider, answer: &Answer) -> Result<String, String> {
    let body = &answer.body;
    match provider {
        SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. } => twilio_id(answer),
        SmsProvider::MessageBird { .. } => match &body["recipients"]["totalSentCount"] {
            sent if answer.is_success() && sent.as_u64() > Some(0) => Ok(text(&body["id"])),
            _ => Err(or_status(&body["errors"][0]["description"], answer)),
        },
        SmsProvider::Textlocal { .. } => match body["status"] == "success" {
            true => Ok(text(&body["messages"][0]["id"])),
            false => Err(or_status(&body["errors"][0]["message"], answer)),
        },
        SmsProvider::Vonage { .. } => match &body["messages"][0] {
            message if message["status"] == "0" => Ok(text(&message["message-id"])),
            message => Err(or_status(&message["error-text"], answer)),
        },
    }
}

fn twilio_id(answer: &Answer) -> Result<String, String> {
    let body = &answer.body;
    if !answer.is_success() {
        let reason = or_status(&body["message"], answer);
        return Err(match body["more_info"].as_str() {
            Some(page) => format!("{reason} More information: {page}"),
            None => reason,
        });
    }
    match body["status"].as_str() {
        Some("failed" | "undelivered") => Err(or_status(&body["error_message"], answer)),
        _ => Ok(text(&body["sid"])),
    }
}

/// What the provider said, or at least its status.
fn or_status(reason: &Value, answer: &Answer) -> String {
    match text(reason) {
        reason if reason.is_empty() => format!("the provider answered {}", answer.status),
        reason => reason,
    }
}

/// Ids are texts with some and numbers with others.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
