//! What the vectors say, as the cookie functions take it.

use plinth_session::cookie::{
    Changes, CookieOptions, Cookies, Encoding, SameSite, Side, Write, is_chunk_like,
};
use serde_json::{Map, Value, json};

use crate::ledger::Field;

/// A case's name and what it is about, for messages.
pub(crate) fn title(case: &Field<'_>) -> String {
    format!(
        "{}: {}",
        case.field("name").text(),
        case.field("description").text()
    )
}

pub(crate) fn cookies(list: &Field<'_>) -> Cookies {
    let list = list.items();
    let pairs = list
        .iter()
        .map(|cookie| (cookie.field("name").text(), cookie.field("value").text()));
    pairs.collect()
}

/// What the caller of the reference package gave, as far as it means anything.
pub(crate) fn options(given: &Value) -> CookieOptions {
    let mut options = CookieOptions::default().secure(false);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for (name, value) in given.as_object().unwrap_or(&Map::new()) {
        options = match name.as_str() {
            "domain" => options.domain(text(value)),
            "path" => options.path(text(value)),
            "secure" => options.secure(value.as_bool().unwrap()),
            "httpOnly" => options.http_only(value.as_bool().unwrap()),
            "sameSite" => options.same_site(match text(value).as_str() {
                "lax" => SameSite::Lax,
                "strict" => SameSite::Strict,
                other => panic!("{other}"),
            }),
            // Neither is an attribute, and the lifetime is fixed (C14).
            "name" | "maxAge" => options,
            other => panic!("{other}"),
        };
    }
    options
}

pub(crate) fn encoding(case: &Field<'_>) -> Encoding {
    match case.field("cookie_encoding").text() {
        "base64url" => Encoding::Base64Url,
        "raw" => Encoding::Raw,
        other => panic!("{other}"),
    }
}

/// The attributes of a `Set-Cookie`, as the reference's options.
pub(crate) fn options_of(attributes: &str) -> Value {
    let mut options = json!({ "httpOnly": false });
    for attribute in attributes.split("; ").filter(|text| !text.is_empty()) {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        match name {
            "Max-Age" => options["maxAge"] = json!(value.parse::<u64>().unwrap()),
            "Domain" => options["domain"] = json!(value),
            "Path" => options["path"] = json!(value),
            "HttpOnly" => options["httpOnly"] = json!(true),
            "Secure" => options["secure"] = json!(true),
            "SameSite" => options["sameSite"] = json!(value.to_lowercase()),
            other => panic!("{other}"),
        }
    }
    options
}

/// A write as the vectors show it.
pub(crate) fn shown(write: &Write, options: &CookieOptions) -> Value {
    let attributes = write.attributes(options);
    let mut shown = json!({
        "name": write.name,
        "value": write.value,
        "remove": write.is_removal,
        "options": options_of(&attributes),
        "attributes": attributes,
    });
    if write.wire_value() != write.value.as_str() {
        shown["wire_value"] = json!(write.wire_value());
    }
    let header = format!("{}={}{attributes}", write.name, write.wire_value());
    assert_eq!(write.header(options), header);
    shown
}

/// The header by which a browser sends these cookies back.
pub(crate) fn cookie_header<'a>(jar: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let wire = |(name, value): (&str, &str)| {
        let mut changes = Changes::default();
        changes.set(name, value);
        let writes = changes.plan(
            &Cookies::default(),
            &CookieOptions::default(),
            Encoding::Raw,
            Side::Server,
        );
        assert_eq!(writes.len(), 1, "one cookie stays one cookie");
        format!("{name}={}", writes[0].wire_value())
    };
    let pairs: Vec<String> = jar.into_iter().map(wire).collect();
    pairs.join("; ")
}

/// In how many operations the reference makes these writes, given as names and whether they are
/// removals (C21): each flow's own cookies go at once, everything else together.
pub(crate) fn operations<'a>(
    key: &str,
    writes: impl Iterator<Item = (&'a str, bool)>,
) -> Vec<usize> {
    let (latest, verifier) = (format!("{key}-code-verifier"), "-code-verifier");
    let (mut sizes, mut with_the_event) = (Vec::new(), 0);
    for (name, is_removal) in writes {
        let waits = is_removal && is_chunk_like(name, &latest);
        if name.ends_with(verifier) && !waits {
            sizes.push(1);
        } else {
            with_the_event += 1;
        }
    }
    sizes.extend((with_the_event > 0).then_some(with_the_event));
    sizes
}
