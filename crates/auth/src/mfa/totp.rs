//! Authenticator apps: six digits that change every thirty seconds (RFC 6238).

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use qrcode::{QrCode, render::svg};
use serde::Serialize;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;

use crate::{AuthError, model::User, random, request::RequestContext};

const STEP_SECONDS: u64 = 30;
/// Clocks may differ by one step.
const SKEW: u64 = 1;
/// Longer ones do not fit into a QR code that phones can read.
const MAX_ISSUER_BYTES: usize = 128;

/// The secret of a new factor, in three forms.
#[derive(Serialize)]
pub(super) struct TotpBody {
    /// An SVG image.
    qr_code: String,
    pub(super) secret: String,
    uri: String,
}

impl TotpBody {
    /// A new secret for `user`; the app lists it under `issuer`, or the site if that is empty.
    pub(super) fn new(
        context: &RequestContext,
        user: &User,
        issuer: &str,
    ) -> Result<Self, AuthError> {
        if issuer.len() > MAX_ISSUER_BYTES {
            return Err(AuthError::validation_failed(format!(
                "issuer must be at most {MAX_ISSUER_BYTES} bytes long"
            )));
        }
        let issuer = match issuer {
            "" => host(&context.config.site_url),
            issuer => issuer.to_owned(),
        };
        let id = user.id.to_string();
        let account = [&user.email, &user.phone, &id];
        let account = account.into_iter().find(|text| !text.is_empty());
        let secret = BASE32_NOPAD.encode(&random::bytes::<20>());
        let uri = uri(&issuer, account.unwrap_or(&id), &secret);
        Ok(Self {
            qr_code: qr_code_svg(&uri)?,
            secret,
            uri,
        })
    }
}

/// With the port, if it is not the default.
fn host(site: &url::Url) -> String {
    let host = site.host_str().unwrap_or_default();
    match site.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

fn uri(issuer: &str, account: &str, secret: &str) -> String {
    let (issuer, account) = (encode(issuer), encode(account));
    format!(
        "otpauth://totp/{issuer}:{account}\
         ?algorithm=SHA1&digits=6&issuer={issuer}&period={STEP_SECONDS}&secret={secret}"
    )
}

/// Percent-encoded. A space is `%20`, since apps do not read `+` as one.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'@' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Clients put it into a `data:` URL unescaped, so it must not contain `#`.
fn qr_code_svg(uri: &str) -> Result<String, AuthError> {
    let code = QrCode::new(uri).map_err(AuthError::rendering_qr_code_failed)?;
    let picture = code
        .render::<svg::Color<'_>>()
        .dark_color(svg::Color("black"))
        .light_color(svg::Color("white"))
        .module_dimensions(3, 3)
        .build();
    Ok(picture)
}

/// The time step that the code belongs to, if it is within the tolerance.
pub(super) fn find_step(secret: &str, code: &str, now: OffsetDateTime) -> Option<u64> {
    let secret = secret.trim_end_matches('=').to_ascii_uppercase();
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).ok()?;
    if secret.is_empty() {
        return None;
    }
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let shown = code.trim().as_bytes();
    let present = u64::try_from(now.unix_timestamp()).ok()? / STEP_SECONDS;
    let mut steps = present.saturating_sub(SKEW)..=present + SKEW;
    steps.find(|step| code_at_step(&key, *step).as_bytes().ct_eq(shown).into())
}

/// The code of a time step (RFC 4226, 5.3).
fn code_at_step(key: &hmac::Key, step: u64) -> String {
    let hash = hmac::sign(key, &step.to_be_bytes());
    let hash = hash.as_ref();
    let at = usize::from(hash[hash.len() - 1] & 0xf);
    let bytes = [hash[at] & 0x7f, hash[at + 1], hash[at + 2], hash[at + 3]];
    format!("{:06}", u32::from_be_bytes(bytes) % 1_000_000)
}

/// Whether a code was not used yet: a code counts once, and no older one counts after it (RFC 6238,
/// 5.2). `used_steps` are the steps that were used lately, as texts.
pub(super) fn is_unused(step: u64, used_steps: &[String]) -> bool {
    let mut used = used_steps.iter().filter_map(|step| step.parse().ok());
    !used.any(|used: u64| used >= step)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret of RFC 6238, appendix B.
    const SECRET: &str = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

    #[track_caller]
    fn check(code: &str, seconds: i64, expected: Option<u64>) {
        let now = OffsetDateTime::from_unix_timestamp(seconds).expect("a time");
        assert_eq!(
            find_step(SECRET, code, now),
            expected,
            "{code} at {seconds}"
        );
    }

    #[test]
    fn codes_are_those_of_the_standard() {
        check("287082", 59, Some(1));
        check("081804", 1_111_111_109, Some(37_037_036));
        check("050471", 1_111_111_111, Some(37_037_037));
        check("005924", 1_234_567_890, Some(41_152_263));
        check("279037", 2_000_000_000, Some(66_666_666));
        check("353130", 20_000_000_000, Some(666_666_666));
    }

    #[test]
    fn clocks_may_be_one_step_apart_and_no_more() {
        // The code of step 1, which lasts from 30 to 59.
        check("287082", 0, Some(1));
        check("287082", 30, Some(1));
        check("287082", 89, Some(1));
        check("287082", 90, None);
        check("081804", 1_111_111_080 - 31, None);
        check("081804", 1_111_111_080 - 30, Some(37_037_036));
    }

    #[test]
    fn what_is_no_code_matches_nothing() {
        check(" 287082 ", 59, Some(1));
        for code in [
            "",
            "28708",
            "2870820",
            "28708a",
            "٢٨٧٠٨٢",
            "-87082",
            "287 082",
        ] {
            check(code, 59, None);
        }
    }

    #[test]
    fn a_bad_secret_matches_nothing() {
        for secret in ["", "1", "????", "{\"key_id\":\"x\"}"] {
            assert_eq!(
                find_step(secret, "287082", OffsetDateTime::UNIX_EPOCH),
                None
            );
        }
    }

    #[test]
    fn a_step_counts_once_and_in_order() {
        let used = ["7".to_owned(), "no step".to_owned()];
        assert!(is_unused(8, &used));
        assert!(!is_unused(7, &used));
        assert!(!is_unused(6, &used));
        assert!(is_unused(0, &[]));
    }

    #[test]
    fn the_uri_is_what_apps_read() {
        assert_eq!(
            uri("My App: local", "ann+x@mail.dev", SECRET),
            "otpauth://totp/My%20App%3A%20local:ann%2Bx@mail.dev\
             ?algorithm=SHA1&digits=6&issuer=My%20App%3A%20local&period=30\
             &secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
        );
    }

    #[test]
    fn the_picture_survives_a_data_url() {
        let longest = uri(&"ü".repeat(64), &"a".repeat(255), SECRET);
        for uri in ["otpauth://totp/x:y?secret=Z", &longest] {
            let picture = qr_code_svg(uri).expect("it fits");
            assert!(picture.contains("<svg") && picture.ends_with("</svg>"));
            assert!(!picture.contains(['#', '%']));
        }
    }

    #[test]
    fn the_site_names_itself_with_its_port() {
        let check = |url: &str, expected: &str| {
            assert_eq!(host(&url.parse().expect(url)), expected);
        };
        check("http://localhost:3000/x", "localhost:3000");
        check("https://site.test", "site.test");
    }
}
