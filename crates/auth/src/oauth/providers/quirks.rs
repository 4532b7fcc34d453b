//! Functions for what the table cannot express as data.

use serde_json::{Value, json};

use super::profile::{Email, is_true, non_empty_text};
use crate::model::Object;

/// Discord: every user has a picture, animated or not.
pub(super) fn discord_picture(user: &Value) -> Option<String> {
    let cdn = "https://cdn.discordapp.com";
    let id = user.get("id").and_then(non_empty_text)?;
    match user.get("avatar").and_then(non_empty_text) {
        Some(hash) => {
            let extension = if hash.starts_with("a_") { "gif" } else { "png" };
            Some(format!("{cdn}/avatars/{id}/{hash}.{extension}"))
        }
        None => {
            let discriminator = user.get("discriminator").and_then(non_empty_text)?;
            let number: u32 = discriminator.parse().ok()?;
            Some(format!("{cdn}/embed/avatars/{}.png", number % 5))
        }
    }
}

/// Discord: older names have a discriminator.
pub(super) fn discord_name(user: &Value) -> Option<String> {
    let name = user.get("username").and_then(non_empty_text)?;
    let number = user.get("discriminator").and_then(non_empty_text)?;
    Some(format!("{name}#{number}"))
}

/// GitLab: further addresses have no verification state.
pub(super) fn gitlab_emails(user: &Value) -> Vec<Email> {
    let address = |value: &Value| value.get("email").and_then(non_empty_text);
    let listed = user.get("emails").and_then(Value::as_array);
    let others = listed.into_iter().flatten().filter_map(address);
    let mut emails: Vec<Email> = others
        .filter_map(|other| Email::new(&other, false, false))
        .collect();
    let is_confirmed = user.get("confirmed_at").and_then(non_empty_text).is_some();
    let primary = address(user).and_then(|address| Email::new(&address, is_confirmed, true));
    emails.extend(primary);
    emails
}

pub(super) fn google_is_verified(user: &Value) -> bool {
    ["email_verified", "verified_email"]
        .iter()
        .any(|name| user.get(name).is_some_and(is_true))
}

pub(super) fn kakao_is_verified(user: &Value) -> bool {
    ["is_email_valid", "is_email_verified"].iter().all(|name| {
        let flag = user
            .get("kakao_account")
            .and_then(|account| account.get(name));
        flag.is_some_and(is_true)
    })
}

/// LinkedIn: first and last name, each in the user's preferred locale.
pub(super) fn linkedin_name(user: &Value) -> Option<String> {
    let localized = |part: &str| {
        let name = user.get(part)?;
        let locale = name.get("preferredLocale")?;
        let of = |key: &str| locale.get(key).and_then(non_empty_text);
        let key = format!("{}_{}", of("language")?, of("country")?);
        name.get("localized")?.get(key).and_then(non_empty_text)
    };
    let words = [localized("firstName"), localized("lastName")];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// Spotify: the largest of several pictures.
pub(super) fn spotify_picture(user: &Value) -> Option<String> {
    let area = |image: &&Value| {
        let side = |name: &str| image.get(name).and_then(Value::as_u64).unwrap_or(0);
        side("width").saturating_mul(side("height"))
    };
    let images = user.get("images").and_then(Value::as_array)?;
    // Of equal areas the first; `max_by_key` returns the last.
    let largest = images.iter().rev().max_by_key(area)?;
    largest.get("url").and_then(non_empty_text)
}

/// Vercel: the user's global id, if known, else the id in one installation.
pub(super) fn vercel_subject(claims: &Value) -> Option<String> {
    match claims.get("global_user_id").and_then(non_empty_text) {
        Some(id) => Some(format!("global_user_id:{id}")),
        None => claims.get("sub").and_then(non_empty_text),
    }
}

pub(super) fn x_profile(response: &Value) -> Option<String> {
    let name = response
        .pointer("/data/username")
        .and_then(non_empty_text)?;
    Some(format!("https://x.com/{name}"))
}

/// Zoom: 100 is a sign-in with Zoom's own password, the only type whose address may be unverified.
pub(super) fn zoom_is_verified(user: &Value) -> bool {
    let login_type = user.get("login_type").and_then(non_empty_text);
    let verified = user.get("verified").and_then(Value::as_i64);
    login_type.as_deref() != Some("100") || verified.is_some_and(|verified| verified != 0)
}

/// Microsoft: the optional claim `xms_edov` says whether the domain of the address is verified.
/// Without it, Microsoft sends addresses of its own tenants only.
pub(super) fn azure_is_verified(claims: &Value) -> bool {
    match claims.get("xms_edov") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text == "1" || text == "true",
        Some(value) => value == &Value::Bool(true),
    }
}

/// Apple: whether the address is a relay, in either spelling, and the time of authentication.
pub(super) fn apple_custom(claims: &Value) -> Object {
    let mut custom = Object::new();
    match claims.get("is_private_email") {
        None | Some(Value::Null) => {}
        Some(value) => {
            custom.insert("is_private_email".to_owned(), json!(is_true(value)));
        }
    }
    for name in ["auth_time", "transfer_sub"] {
        let value = claims.get(name);
        if let Some(value) =
            value.filter(|value| value.is_number() || non_empty_text(value).is_some())
        {
            custom.insert(name.to_owned(), value.clone());
        }
    }
    custom
}
