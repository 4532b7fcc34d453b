//! `POST /admin/generate_link`: the link of a mail without the mail.

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    conflict,
    new_account::{self, Otp},
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    hooks, mail,
    model::{NewUser, Object, TokenKind, User, UserBody, one_time, users},
    password, random,
    request::{Admin, Context, Input, contact},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct LinkParams {
    r#type: String,
    email: String,
    new_email: String,
    password: String,
    data: Object,
    redirect_to: String,
}

#[derive(Serialize)]
pub(crate) struct LinkBody {
    #[serde(flatten)]
    user: UserBody,
    action_link: String,
    email_otp: String,
    hashed_token: String,
    verification_type: &'static str,
    redirect_to: String,
}

/// What the link is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Signup,
    Invite,
    MagicLink,
    Recovery,
    EmailChangeCurrent,
    EmailChangeNew,
}

impl Kind {
    fn parse(text: &str) -> Result<Self, AuthError> {
        let all = [
            Self::Signup,
            Self::Invite,
            Self::MagicLink,
            Self::Recovery,
            Self::EmailChangeCurrent,
            Self::EmailChangeNew,
        ];
        let found = all.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| {
            AuthError::invalid(format!("Invalid email action link type requested: {text}"))
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Signup => "signup",
            Self::Invite => "invite",
            Self::MagicLink => "magiclink",
            Self::Recovery => "recovery",
            Self::EmailChangeCurrent => "email_change_current",
            Self::EmailChangeNew => "email_change_new",
        }
    }

    /// The mail whose path the link has, and the `type` that it names.
    fn link_names(self) -> (&'static str, &'static str) {
        match self {
            Self::Signup => ("confirmation", "signup"),
            Self::Invite => ("invite", "invite"),
            Self::MagicLink => ("recovery", "magiclink"),
            Self::Recovery => ("recovery", "recovery"),
            Self::EmailChangeCurrent | Self::EmailChangeNew => ("email_change", "email_change"),
        }
    }
}

/// `POST /admin/generate_link`
pub(crate) async fn generate(
    context: Context,
    admin: Admin,
    Input(params): Input<LinkParams>,
) -> Result<Json<LinkBody>, AuthError> {
    let email = contact::email(&params.email)?;
    let kind = Kind::parse(&params.r#type)?;
    let redirect_to = match context.may_redirect_to(&params.redirect_to) {
        true => params.redirect_to.clone(),
        false => context.redirect_to(),
    };
    let found = {
        let mut db = context.db().await?;
        users::find_by_email(&mut db, &email, context.audience()).await?
    };
    let request = Request {
        context: &context,
        admin: &admin,
        params: &params,
        email: &email,
    };
    let (kind, new) = match &found {
        Some(_) => (kind, None),
        None => {
            let (kind, new) = request.newcomer(kind).await?;
            (kind, Some(new))
        }
    };
    let is_new = new.is_some();

    let mut db = context.begin().await?;
    let user = match (found, new) {
        (_, Some(new)) => new_account::insert(&context, &mut db, new).await?,
        (Some(user), None) => user,
        (None, None) => return Err(not_found()),
    };
    let (user, otp) = match kind {
        Kind::Signup => request.signup(&mut db, user).await?,
        Kind::Invite => request.invite(&mut db, user).await?,
        Kind::MagicLink | Kind::Recovery => request.recovery(&mut db, user).await?,
        Kind::EmailChangeCurrent | Kind::EmailChangeNew => {
            request.email_change(&mut db, user, kind).await?
        }
    };
    let user = users::load_body(&mut db, user).await?;
    db.commit().await?;
    if is_new {
        hooks::after_user_created(&context, &user).await?;
    }
    let (path_of, link_type) = kind.link_names();
    Ok(Json(LinkBody {
        user,
        action_link: mail::link(&context, path_of, link_type, &otp.hash, &redirect_to),
        email_otp: otp.digits,
        hashed_token: otp.hash,
        verification_type: kind.as_str(),
        redirect_to,
    }))
}

struct Request<'a> {
    context: &'a Context,
    admin: &'a Admin,
    params: &'a LinkParams,
    email: &'a str,
}

impl Request<'_> {
    /// Somebody unknown: who they will be, and what the link becomes. Nothing is stored yet.
    async fn newcomer(&self, kind: Kind) -> Result<(Kind, NewUser), AuthError> {
        let (kind, encrypted_password) = match kind {
            Kind::Signup => (Kind::Signup, self.chosen_password().await?),
            Kind::MagicLink => (Kind::Signup, self.hash(&random::url_text::<48>()).await?),
            Kind::Invite => (Kind::Invite, String::new()),
            Kind::Recovery | Kind::EmailChangeCurrent | Kind::EmailChangeNew => {
                return Err(not_found());
            }
        };
        let data = self.params.data.clone();
        let new = new_account::new_user(self.context, self.email, encrypted_password, data);
        let preview = new_account::preview(&new, self.context.now);
        hooks::before_user_created(self.context, &preview).await?;
        Ok((kind, new))
    }

    async fn chosen_password(&self) -> Result<String, AuthError> {
        let password = &self.params.password;
        if password.is_empty() {
            return Err(AuthError::invalid("Signup requires a valid password"));
        }
        password::check_strength(self.context, password).await?;
        self.hash(password).await
    }

    async fn hash(&self, password: &str) -> Result<String, AuthError> {
        let hasher = self.context.service.hasher();
        hasher
            .hash(password, self.context.config.password.cost)
            .await
    }

    async fn signup(
        &self,
        db: &mut ServiceTransaction,
        user: User,
    ) -> Result<(User, Otp), AuthError> {
        refuse_confirmed(&user)?;
        let mut metadata = user.user_metadata.clone();
        users::merge(&mut metadata, &self.params.data);
        let metadata = Value::Object(metadata);
        let columns = "raw_user_meta_data = $1";
        let now = self.context.now;
        let user = users::update(db, user.id, now, columns, &[&metadata]).await?;
        let otp = Otp::new(self.context, self.email);
        let user = new_account::put_confirmation(self.context, db, &user, &otp, false).await?;
        Ok((user, otp))
    }

    async fn invite(
        &self,
        db: &mut ServiceTransaction,
        user: User,
    ) -> Result<(User, Otp), AuthError> {
        refuse_confirmed(&user)?;
        let traits = json!({ "user_id": user.id, "user_email": user.email });
        audit::write(self.context, db, self.admin, Action::UserInvited, traits).await?;
        let otp = Otp::new(self.context, self.email);
        let user = new_account::put_confirmation(self.context, db, &user, &otp, true).await?;
        Ok((user, otp))
    }

    async fn recovery(
        &self,
        db: &mut ServiceTransaction,
        user: User,
    ) -> Result<(User, Otp), AuthError> {
        let action = Action::UserRecoveryRequested;
        audit::write(self.context, db, &user, action, Value::Null).await?;
        let now = self.context.now;
        let otp = Otp::new(self.context, self.email);
        one_time::put(db, user.id, TokenKind::Recovery, self.email, &otp.hash, now).await?;
        let columns = "recovery_token = $1, recovery_sent_at = $2";
        let user = users::update(db, user.id, now, columns, &[&otp.hash, &now]).await?;
        Ok((user, otp))
    }

    async fn email_change(
        &self,
        db: &mut ServiceTransaction,
        user: User,
        kind: Kind,
    ) -> Result<(User, Otp), AuthError> {
        let is_current = kind == Kind::EmailChangeCurrent;
        if is_current && !self.context.config.mail.is_change_confirmed_twice {
            return Err(AuthError::invalid(
                "Enable secure email change to generate link for current email",
            ));
        }
        let new_email = contact::email(&self.params.new_email)?;
        if users::is_email_taken(db, &new_email, &user.aud, Some(user.id)).await? {
            return Err(conflict::email_exists());
        }
        let (token, address, columns) = match is_current {
            true => (
                TokenKind::EmailChangeCurrent,
                self.email,
                "email_change_token_current = $1, email_change = $2, email_change_sent_at = $3,
                 email_change_confirm_status = 0",
            ),
            false => (
                TokenKind::EmailChangeNew,
                new_email.as_str(),
                "email_change_token_new = $1, email_change = $2, email_change_sent_at = $3,
                 email_change_confirm_status = 0",
            ),
        };
        let now = self.context.now;
        let otp = Otp::new(self.context, address);
        one_time::put(db, user.id, token, address, &otp.hash, now).await?;
        let values: plinth_db::Params<'_> = &[&otp.hash, &new_email, &now];
        let user = users::update(db, user.id, now, columns, values).await?;
        Ok((user, otp))
    }
}

fn refuse_confirmed(user: &User) -> Result<(), AuthError> {
    match user.is_email_confirmed() {
        true => Err(conflict::email_exists()),
        false => Ok(()),
    }
}

fn not_found() -> AuthError {
    AuthError::new(404, Code::UserNotFound, "User with this email not found")
}
