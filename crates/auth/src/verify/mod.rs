//! `/verify`: verifies one-time tokens (auth contract §2.5).

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
    contact::{self, Contact},
    model::{TokenKind, User},
    rate_limit::{self, Bucket},
    request::{Input, RequestContext},
    sessions::{SignIn, sign_in},
};
use effects::Effect;
use proof::Purpose;

pub(crate) use effects::{clear_anonymous, set_email, set_phone};
pub(crate) use link::verify_link;
pub(crate) use proof::is_nonce_correct;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    r#type: String,
    token: String,
    token_hash: String,
    email: String,
    phone: String,
    redirect_to: String,
}

/// The token of the request.
enum SubmittedToken {
    /// The code that was sent to this contact.
    Code { contact: Contact, otp: String },
    /// The hash in a link.
    Hash(String),
}

/// A verified token and its user, whose row is locked.
struct VerifiedToken {
    user: User,
    kind: TokenKind,
    purpose: Purpose,
}

/// `POST /verify`
pub(crate) async fn verify(
    context: RequestContext,
    Input(params): Input<VerifyParams>,
) -> Result<Response, AuthError> {
    rate_limit::check_shared(&context, Bucket::Verify).await?;
    let (purpose, submitted) = read_token(&params)?;
    let mut tx = context.begin().await?;
    let verified = match &submitted {
        SubmittedToken::Hash(hash) => proof::check_hash(&context, &mut tx, purpose, hash).await?,
        SubmittedToken::Code { contact, otp } => {
            let checked = proof::check_code(&context, &mut tx, purpose, contact, otp).await?;
            match checked {
                Some(verified) => verified,
                None => {
                    // The count of wrong codes must be stored.
                    tx.commit().await?;
                    return Err(AuthError::otp_expired());
                }
            }
        }
    };
    let effect = effects::apply(&context, &mut tx, verified).await?;
    match effect {
        Effect::Session(user) => {
            let body = sign_in(&context, &mut tx, *user, SignIn::by("otp")).await?;
            tx.commit().await?;
            Ok(body.into_response())
        }
        Effect::FirstOfTwoConfirmed => {
            tx.commit().await?;
            Ok(Json(json!({ "msg": FIRST_OF_TWO_CONFIRMED, "code": "200" })).into_response())
        }
    }
}

/// The message after the first of two confirmations.
const FIRST_OF_TWO_CONFIRMED: &str =
    "Confirmation link accepted. Please proceed to confirm link sent to the other email";

fn read_token(params: &VerifyParams) -> Result<(Purpose, SubmittedToken), AuthError> {
    if params.r#type.is_empty() {
        return Err(AuthError::missing_verification_type());
    }
    let purpose =
        Purpose::parse(&params.r#type).ok_or_else(AuthError::unsupported_verification_type)?;
    match (params.token.as_str(), params.token_hash.as_str()) {
        ("", "") => Err(AuthError::missing_verification_token()),
        ("", hash) => {
            let has_more = [&params.email, &params.phone, &params.redirect_to];
            if has_more.iter().any(|text| !text.is_empty()) {
                return Err(AuthError::validation_failed(
                    "Only the token_hash and type should be provided",
                ));
            }
            if purpose.is_by_phone() {
                Err(AuthError::not_an_email_verification_type())
            } else {
                Ok((purpose, SubmittedToken::Hash(hash.to_owned())))
            }
        }
        (otp, "") => Ok((
            purpose,
            SubmittedToken::Code {
                contact: read_contact(params, purpose)?,
                otp: otp.to_owned(),
            },
        )),
        _ => Err(AuthError::validation_failed(
            "Verify requires either a token or a token hash",
        )),
    }
}

fn read_contact(params: &VerifyParams, purpose: Purpose) -> Result<Contact, AuthError> {
    match (params.email.as_str(), params.phone.as_str()) {
        ("", phone) if !phone.is_empty() => {
            if purpose.is_by_phone() {
                contact::phone(phone).map(Contact::Phone)
            } else {
                Err(AuthError::validation_failed(
                    "Invalid sms verification type",
                ))
            }
        }
        (email, "") if !email.is_empty() => {
            if purpose.is_by_phone() {
                Err(AuthError::not_an_email_verification_type())
            } else if contact::is_email(email) {
                Ok(Contact::Email(email.to_lowercase()))
            } else {
                Err(AuthError::invalid_email_to_verify())
            }
        }
        _ => Err(AuthError::validation_failed(
            "Only an email address or phone number should be provided on verify",
        )),
    }
}
