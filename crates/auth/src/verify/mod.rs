//! `/verify`: a one-time token is shown, and what it stands for happens (auth contract §2.5).

mod effects;
mod link;
mod proof;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    AuthError,
    error::Code,
    model::{TokenKind, User},
    rate_limit::{self, Bucket},
    request::{
        Context, Input,
        contact::{self, Contact},
    },
    sessions::{SignIn, sign_in},
};
use effects::Effect;
use proof::Purpose;

pub(crate) use effects::{named, set_email, set_phone};
pub(crate) use link::verify_link;
pub(crate) use proof::is_nonce_right;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    r#type: String,
    token: String,
    token_hash: String,
    email: String,
    phone: String,
    redirect_to: String,
}

/// What was shown.
enum Shown {
    /// Digits, by whoever reads at this address or number.
    Code { contact: Contact, otp: String },
    /// The hash that a link carries.
    Hash(String),
}

/// A token that is right, with its user, whose row is locked.
struct Proven {
    user: User,
    kind: TokenKind,
    purpose: Purpose,
}

/// `POST /verify`
pub(crate) async fn verify(
    context: Context,
    Input(params): Input<VerifyParams>,
) -> Result<Response, AuthError> {
    rate_limit::check(&context, Bucket::Verify)?;
    let (purpose, shown) = read(&params)?;
    let mut tx = context.begin().await?;
    let proven = match &shown {
        Shown::Hash(hash) => proof::check_hash(&context, &mut tx, purpose, hash).await?,
        Shown::Code { contact, otp } => {
            let checked = proof::check_code(&context, &mut tx, purpose, contact, otp).await?;
            match checked {
                Some(proven) => proven,
                None => {
                    // Wrong codes must stay counted.
                    tx.commit().await?;
                    return Err(expired_code());
                }
            }
        }
    };
    let effect = effects::apply(&context, &mut tx, proven).await?;
    match effect {
        Effect::Session(user) => {
            let body = sign_in(&context, &mut tx, *user, SignIn::by("otp")).await?;
            tx.commit().await?;
            Ok(body.into_response())
        }
        Effect::OneOfTwo => {
            tx.commit().await?;
            Ok(Json(json!({ "msg": ONE_OF_TWO, "code": "200" })).into_response())
        }
    }
}

/// Said after the first of two confirmations.
const ONE_OF_TWO: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";

fn read(params: &VerifyParams) -> Result<(Purpose, Shown), AuthError> {
    if params.r#type.is_empty() {
        return Err(AuthError::invalid("Verify requires a verification type"));
    }
    let purpose = Purpose::parse(&params.r#type)
        .ok_or_else(|| AuthError::invalid("Unsupported verification type"))?;
    match (params.token.as_str(), params.token_hash.as_str()) {
        ("", "") => Err(AuthError::invalid(
            "Verify requires a token or a token hash",
        )),
        ("", hash) => {
            let has_more = [&params.email, &params.phone, &params.redirect_to];
            if has_more.iter().any(|text| !text.is_empty()) {
                return Err(AuthError::invalid(
                    "Only the token_hash and type should be provided",
                ));
            }
            match purpose.is_by_phone() {
                true => Err(AuthError::invalid("Invalid email verification type")),
                false => Ok((purpose, Shown::Hash(hash.to_owned()))),
            }
        }
        (otp, "") => Ok((
            purpose,
            Shown::Code {
                contact: read_contact(params, purpose)?,
                otp: otp.to_owned(),
            },
        )),
        _ => Err(AuthError::invalid(
            "Verify requires either a token or a token hash",
        )),
    }
}

fn read_contact(params: &VerifyParams, purpose: Purpose) -> Result<Contact, AuthError> {
    match (params.email.as_str(), params.phone.as_str()) {
        ("", phone) if !phone.is_empty() => match purpose.is_by_phone() {
            true => contact::phone(phone).map(Contact::Phone),
            false => Err(AuthError::invalid("Invalid sms verification type")),
        },
        (email, "") if !email.is_empty() => match purpose.is_by_phone() {
            true => Err(AuthError::invalid("Invalid email verification type")),
            false if contact::is_email(email) => Ok(Contact::Email(email.to_lowercase())),
            false => Err(AuthError::new(
                422,
                Code::ValidationFailed,
                "Invalid email format",
            )),
        },
        _ => Err(AuthError::invalid(
            "Only an email address or phone number should be provided on verify",
        )),
    }
}

fn expired_code() -> AuthError {
    AuthError::new(403, Code::OtpExpired, "Token has expired or is invalid")
}

fn expired_link() -> AuthError {
    AuthError::new(
        403,
        Code::OtpExpired,
        "Email link is invalid or has expired",
    )
}
