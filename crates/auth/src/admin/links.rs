//! `POST /admin/generate_link`: returns the link that a mail would contain, without sending it.

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{conflict, invite};
use crate::{
    AuthError,
    accounts::{self, Metadata},
    audit::{self, Action},
    caller::Admin,
    contact::{self, Contact},
    mail,
    messages::{self, Issued},
    model::{NewUser, Object, TokenKind, User, UserBody, users},
    password, random,
    request::{Input, RequestContext},
};

#[derive(Default, Deserialize)]
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
            AuthError::validation_failed(format!(
                "Invalid email action link type requested: {text}"
            ))
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

    /// The mail whose URL path the link has, and the `type` in it.
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
    context: RequestContext,
    admin: Admin,
    Input(params): Input<LinkParams>,
) -> Result<Json<LinkBody>, AuthError> {
    let email = contact::email(&params.email)?;
    let kind = Kind::parse(&params.r#type)?;
    let redirect_to = context.resolve_redirect(&params.redirect_to);
    let redirect_to = redirect_to.unwrap_or_else(|| context.redirect_to());
    let found = {
        let mut db = context.db().await?;
        users::find_by_email(&mut db, &email, context.audience()).await?
    };
    let request = LinkRequest {
        context: &context,
        admin: &admin,
        params: &params,
        email: &email,
    };
    let (kind, new) = match &found {
        Some(_) => (kind, None),
        None => {
            let (kind, new) = request.new_user(kind).await?;
            (kind, Some(new))
        }
    };
    let is_new = new.is_some();

    let mut db = context.begin().await?;
    let user = match (found, new) {
        (_, Some(new)) => request.create(&mut db, new).await?,
        (Some(user), None) => user,
        (None, None) => return Err(AuthError::user_with_email_not_found()),
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
        accounts::run_after_created_hook(&context, &user).await?;
    }
    let (path_of, link_type) = kind.link_names();
    Ok(Json(LinkBody {
        user,
        action_link: mail::link(&context, path_of, link_type, &otp.hash, &redirect_to),
        email_otp: otp.otp,
        hashed_token: otp.hash,
        verification_type: kind.as_str(),
        redirect_to,
    }))
}

struct LinkRequest<'a> {
    context: &'a RequestContext,
    admin: &'a Admin,
    params: &'a LinkParams,
    email: &'a str,
}

impl LinkRequest<'_> {
    /// The user to be created, and the kind of link for them. Nothing is stored yet.
    async fn new_user(&self, kind: Kind) -> Result<(Kind, NewUser), AuthError> {
        let (kind, encrypted_password) = match kind {
            Kind::Signup => (Kind::Signup, self.chosen_password().await?),
            Kind::MagicLink => (Kind::Signup, self.hash(&random::url_text::<48>()).await?),
            Kind::Invite => (Kind::Invite, String::new()),
            Kind::Recovery | Kind::EmailChangeCurrent | Kind::EmailChangeNew => {
                return Err(AuthError::user_with_email_not_found());
            }
        };
        let data = self.params.data.clone();
        let contact = self.address();
        let new = accounts::new_user(self.context, &contact, encrypted_password, data);
        accounts::run_before_created_hook(self.context, &new).await?;
        Ok((kind, new))
    }

    async fn create(&self, db: &mut ServiceTransaction, new: NewUser) -> Result<User, AuthError> {
        let (contact, metadata) = (self.address(), Metadata::AsGiven);
        let created = accounts::create(self.context, db, new, &contact, metadata).await;
        created.map_err(conflict::or_not_saved)
    }

    fn address(&self) -> Contact {
        Contact::Email(self.email.to_owned())
    }

    /// Issues the token of the link; nothing is sent.
    async fn issue(
        &self,
        db: &mut ServiceTransaction,
        user: User,
        kind: TokenKind,
        to: &Contact,
    ) -> Result<(User, Issued), AuthError> {
        Ok(messages::issue(self.context, db, user.id, kind, to, false).await?)
    }

    async fn chosen_password(&self) -> Result<String, AuthError> {
        let password = &self.params.password;
        if password.is_empty() {
            return Err(AuthError::signup_without_password());
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
    ) -> Result<(User, Issued), AuthError> {
        reject_confirmed(&user)?;
        let mut metadata = user.user_metadata.clone();
        users::merge(&mut metadata, &self.params.data);
        let now = self.context.now;
        let user = users::set_user_metadata(db, user.id, metadata, now).await?;
        self.issue(db, user, TokenKind::Confirmation, &self.address())
            .await
    }

    async fn invite(
        &self,
        db: &mut ServiceTransaction,
        user: User,
    ) -> Result<(User, Issued), AuthError> {
        reject_confirmed(&user)?;
        let user = invite::mark_invited(self.context, db, self.admin, user).await?;
        self.issue(db, user, TokenKind::Confirmation, &self.address())
            .await
    }

    async fn recovery(
        &self,
        db: &mut ServiceTransaction,
        user: User,
    ) -> Result<(User, Issued), AuthError> {
        let action = Action::UserRecoveryRequested;
        audit::write(self.context, db, &user, action, Value::Null).await?;
        self.issue(db, user, TokenKind::Recovery, &self.address())
            .await
    }

    async fn email_change(
        &self,
        db: &mut ServiceTransaction,
        user: User,
        kind: Kind,
    ) -> Result<(User, Issued), AuthError> {
        let is_current = kind == Kind::EmailChangeCurrent;
        if is_current && !self.context.config.mail.is_change_confirmed_twice {
            return Err(AuthError::validation_failed(
                "Enable secure email change to generate link for current email",
            ));
        }
        let new_email = contact::email(&self.params.new_email)?;
        if users::is_email_taken(db, &new_email, &user.aud, Some(user.id)).await? {
            return Err(AuthError::email_exists());
        }
        let now = self.context.now;
        let user = users::set_email_change(db, user.id, &new_email, now).await?;
        let (token, to) = if is_current {
            (TokenKind::EmailChangeCurrent, self.address())
        } else {
            (TokenKind::EmailChangeNew, Contact::Email(new_email))
        };
        self.issue(db, user, token, &to).await
    }
}

fn reject_confirmed(user: &User) -> Result<(), AuthError> {
    if user.is_email_confirmed() {
        Err(AuthError::email_exists())
    } else {
        Ok(())
    }
}
