//! What a provider's column in the table cannot say as data.

use serde_json::{Value, json};

use super::profile::{Email, is_true, text_of};
use crate::model::Object;

/// Discord: a picture for everybody, moving or not.
pub(super) fn discord_picture(user: &Value) -> Option<String> {
    let cdn = "https://cdn.discordapp.com";
    let id = user.get("id").and_then(text_of)?;
    match user.get("avatar").and_then(text_of) {
        Some(hash) => {
            let extension = match hash.starts_with("a_") {
                true => "gif",
                false => "png",
            };
            Some(format!("{cdn}/avatars/{id}/{hash}.{extension}"))
        }
        None => {
            let discriminator = user.get("discriminator").and_then(text_of)?;
            let number: u32 = discriminator.parse().ok()?;
            Some(format!("{cdn}/embed/avatars/{}.png", number % 5))
        }
    }
}

/// Discord: names used to be unique only with a number behind.
pub(super) fn discord_name(user: &Value) -> Option<String> {
    let name = user.get("username").and_then(text_of)?;
    let number = user.get("discriminator").and_then(text_of)?;
    Some(format!("{name}#{number}"))
}

/// GitLab: further addresses come without a word on whether they were confirmed.
pub(super) fn gitlab_emails(user: &Value) -> Vec<Email> {
    let address = |value: &Value| value.get("email").and_then(text_of);
    let listed = user.get("emails").and_then(Value::as_array);
    let others = listed.into_iter().flatten().filter_map(address);
    let mut emails: Vec<Email> = others
        .filter_map(|other| Email::new(&other, false, false))
        .collect();
    let is_confirmed = user.get("confirmed_at").and_then(text_of).is_some();
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

/// LinkedIn: first and last name, each in the language that the person prefers.
pub(super) fn linkedin_name(user: &Value) -> Option<String> {
    let localized = |part: &str| {
        let name = user.get(part)?;
        let locale = name.get("preferredLocale")?;
        let of = |key: &str| locale.get(key).and_then(text_of);
        let key = format!("{}_{}", of("language")?, of("country")?);
        name.get("localized")?.get(key).and_then(text_of)
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
    // Of equals the first, which `max_by_key` would not give.
    let largest = images.iter().rev().max_by_key(area)?;
    largest.get("url").and_then(text_of)
}

/// Vercel: the person beyond one installation, where that is known.
pub(super) fn vercel_subject(claims: &Value) -> Option<String> {
    match claims.get("global_user_id").and_then(text_of) {
        Some(id) => Some(format!("global_user_id:{id}")),
        None => claims.get("sub").and_then(text_of),
    }
}

pub(super) fn x_profile(answer: &Value) -> Option<String> {
    let name = answer.pointer("/data/username").and_then(text_of)?;
    Some(format!("https://x.com/{name}"))
}

/// Zoom: 100 is a sign-in with Zoom's own password, the only one whose address may be unproven.
pub(super) fn zoom_is_verified(user: &Value) -> bool {
    let login_type = user.get("login_type").and_then(text_of);
    let verified = user.get("verified").and_then(Value::as_i64);
    login_type.as_deref() != Some("100") || verified.is_some_and(|verified| verified != 0)
}

/// Microsoft: the optional claim `xms_edov` says whether the address's domain was proven to be the
/// tenant's. Where it is not asked for, Microsoft sends addresses of its own tenants only.
pub(super) fn azure_is_verified(claims: &Value) -> bool {
    match claims.get("xms_edov") {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text == "1" || text == "true",
        Some(value) => value == &Value::Bool(true),
    }
}

/// Apple: whether the address is a relay, in either of two spellings, and when they signed in.
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
        if let Some(value) = value.filter(|value| value.is_number() || text_of(value).is_some()) {
            custom.insert(name.to_owned(), value.clone());
        }
    }
    custom
}
