//! The request and response formats of the SMS providers.

use serde_json::{Value, json};

use super::{
    Channel, Message,
    call::{Authentication, ProviderResponse, Request},
};
use crate::{config::SmsProvider, contact};

/// The request that sends `text`.
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
            authentication: Authentication::Basic(account_sid.clone(), auth_token.clone()),
            form: twilio_form(message, text, message_service_sid, content_sid.as_deref()),
        },
        SmsProvider::TwilioVerify {
            base_url,
            account_sid,
            auth_token,
            message_service_sid,
        } => Request {
            url: format!("{base_url}/v2/Services/{message_service_sid}/Verifications"),
            authentication: Authentication::Basic(account_sid.clone(), auth_token.clone()),
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
            authentication: Authentication::AccessKey(access_key.clone()),
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
            authentication: Authentication::InForm,
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
                ("api_key", api_key.expose().to_owned()),
                ("api_secret", api_secret.expose().to_owned()),
            ];
            if is_unicode {
                form.push(("type", "unicode".to_owned()));
            }
            Request {
                url: format!("{base_url}/sms/json"),
                authentication: Authentication::InForm,
                form,
            }
        }
    }
}

/// WhatsApp numbers have a prefix, and messages use approved templates.
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

/// The request to check a code, for the provider that generates codes.
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
        authentication: Authentication::Basic(account_sid.clone(), auth_token.clone()),
        form: vec![("To", format!("+{phone}")), ("Code", code.to_owned())],
    })
}

/// Whether the provider accepted the code.
pub(super) fn is_approved(response: &ProviderResponse) -> bool {
    response.is_success()
        && response.body["status"] == "approved"
        && response.body["valid"].as_bool() == Some(true)
}

/// The provider's message id, or the error.
pub(super) fn message_id(
    provider: &SmsProvider,
    response: &ProviderResponse,
) -> Result<String, String> {
    let body = &response.body;
    match provider {
        SmsProvider::Twilio { .. } | SmsProvider::TwilioVerify { .. } => twilio_id(response),
        SmsProvider::MessageBird { .. } => match &body["recipients"]["totalSentCount"] {
            sent if response.is_success() && sent.as_u64() > Some(0) => Ok(text(&body["id"])),
            _ => Err(or_status(&body["errors"][0]["description"], response)),
        },
        SmsProvider::Textlocal { .. } => {
            if body["status"] == "success" {
                Ok(text(&body["messages"][0]["id"]))
            } else {
                Err(or_status(&body["errors"][0]["message"], response))
            }
        }
        SmsProvider::Vonage { .. } => match &body["messages"][0] {
            message if message["status"] == "0" => Ok(text(&message["message-id"])),
            message => Err(or_status(&message["error-text"], response)),
        },
    }
}

fn twilio_id(response: &ProviderResponse) -> Result<String, String> {
    let body = &response.body;
    if !response.is_success() {
        let reason = or_status(&body["message"], response);
        return Err(match body["more_info"].as_str() {
            Some(page) => format!("{reason} More information: {page}"),
            None => reason,
        });
    }
    match body["status"].as_str() {
        Some("failed" | "undelivered") => Err(or_status(&body["error_message"], response)),
        _ => Ok(text(&body["sid"])),
    }
}

/// The provider's error text, else its status.
fn or_status(reason: &Value, response: &ProviderResponse) -> String {
    match text(reason) {
        reason if reason.is_empty() => format!("the provider responded with {}", response.status),
        reason => reason,
    }
}

/// Ids are strings or numbers.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
