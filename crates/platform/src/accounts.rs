//! Accounts of operators: users of project zero.
//!
//! They are made and changed through the auth service's own admin API, called in this process, so that
//! passwords, identities and its audit log are the same as for every other user. Reading goes to the tables.

use std::net::{IpAddr, Ipv4Addr};

use axum::{Router, body::Body};
use http::{Method, Request, StatusCode, header::CONTENT_TYPE};
use http_body_util::BodyExt;
use plinth_db::Queries;
use plinth_project::{Caller, ClientAddress, Credentials, ProjectName, PublicUrl, Service};
use plinth_token::{SERVICE_ROLE, Secret};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Responses of the admin API are small.
const MAX_RESPONSE_BYTES: usize = 1 << 20;

const MIN_PASSWORD_CHARS: usize = 8;

/// The value of `app_metadata.role` of an operator.
pub(crate) const OPERATOR: &str = "operator";

/// `app_metadata.email_unproven`: whether nobody ever received a mail at the address.
const UNPROVEN: bool = true;
const PROVEN: bool = false;

/// What an account with a known address may be used for.
enum Existing {
    /// Nobody has used it yet: an invitation by mail made it.
    Unused(Uuid),
    InUse(Uuid),
}

impl Platform {
    /// Sets the router of the auth service, which makes the accounts of operators.
    pub fn attach_auth(&self, routes: Router) {
        let first = self.0.auth.set(routes).is_ok();
        debug_assert!(first, "the auth service is attached once");
    }

    /// A request to project zero's auth service, as an administrator.
    async fn administer(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<(StatusCode, Value), PlatformError> {
        let routes = self.0.auth.get().cloned();
        let routes = routes.ok_or_else(|| PlatformError::internal("there is no auth service"))?;
        let project = self.open(&ProjectName::Platform).await?;
        let url = format!("{}/p/platform", self.endpoints().api_url);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .map_err(PlatformError::caused_by)?;
        let caller = Some(Ok(Caller::for_service(SERVICE_ROLE)));
        let ip = IpAddr::from(Ipv4Addr::LOCALHOST);
        let extensions = request.extensions_mut();
        extensions.insert(Credentials {
            api_key: caller.clone(),
            bearer: caller,
        });
        extensions.insert(ClientAddress {
            ip,
            peer: ip,
            is_forwarded: false,
        });
        extensions.insert(PublicUrl::configured(&url));
        extensions.insert(project);
        let response = match routes.oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let body = http_body_util::Limited::new(response.into_body(), MAX_RESPONSE_BYTES);
        let bytes = body.collect().await.map_err(PlatformError::Internal)?;
        let body = serde_json::from_slice(&bytes.to_bytes()).unwrap_or_default();
        Ok((status, body))
    }

    /// The same; an error of the request becomes one of ours.
    async fn administer_ok(
        &self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<Value, PlatformError> {
        let (status, body) = self.administer(method, path, body).await?;
        if status.is_success() {
            return Ok(body);
        }
        let message = body["msg"].as_str().or(body["message"].as_str());
        let message = message
            .unwrap_or("the auth service did not accept it")
            .to_owned();
        match status {
            StatusCode::TOO_MANY_REQUESTS => Err(PlatformError::Conflict(message)),
            status if status.is_client_error() => Err(PlatformError::Invalid(message)),
            status => Err(PlatformError::internal(format!(
                "the auth service answered {status}: {message}"
            ))),
        }
    }

    /// A new operator, by a link that need not have come by mail: the address is marked as unproven. An account
    /// that is in use is not touched.
    pub(crate) async fn create_account(
        &self,
        email: &str,
        password: &Secret,
    ) -> Result<Uuid, PlatformError> {
        match self.existing_account(email).await? {
            None => self.insert_account(email, password, UNPROVEN).await,
            Some(Existing::Unused(user)) => self.claim_account(user, password, UNPROVEN).await,
            Some(Existing::InUse(_)) => Err(PlatformError::Conflict(
                "There is an account with this address: sign in to accept".to_owned(),
            )),
        }
    }

    /// The owner's account at the set-up. An attempt that was interrupted may have left one.
    pub(crate) async fn create_owner_account(
        &self,
        email: &str,
        password: &Secret,
    ) -> Result<Uuid, PlatformError> {
        match self.existing_account(email).await? {
            None => self.insert_account(email, password, PROVEN).await,
            Some(Existing::Unused(user) | Existing::InUse(user)) => {
                self.revoke_tokens_of(user).await?;
                self.claim_account(user, password, PROVEN).await
            }
        }
    }

    async fn insert_account(
        &self,
        email: &str,
        password: &Secret,
        unproven: bool,
    ) -> Result<Uuid, PlatformError> {
        check_password(password)?;
        let body = json!({
            "email": email,
            "password": password.expose(),
            "email_confirm": true,
            "app_metadata": { "role": OPERATOR, "email_unproven": unproven },
        });
        let user = self
            .administer_ok(Method::POST, "/admin/users", &body)
            .await?;
        let id = user["id"].as_str().and_then(|id| id.parse().ok());
        id.ok_or_else(|| PlatformError::internal("the new account has no id"))
    }

    async fn claim_account(
        &self,
        user: Uuid,
        password: &Secret,
        unproven: bool,
    ) -> Result<Uuid, PlatformError> {
        check_password(password)?;
        let body = json!({
            "password": password.expose(),
            "email_confirm": true,
            "app_metadata": { "role": OPERATOR, "email_unproven": unproven },
        });
        let path = format!("/admin/users/{user}");
        self.administer_ok(Method::PUT, &path, &body).await?;
        Ok(user)
    }

    async fn existing_account(&self, email: &str) -> Result<Option<Existing>, PlatformError> {
        let sql = "select id, last_sign_in_at is null and email_confirmed_at is null
                          and coalesce(encrypted_password, '') = '' as is_unused
                   from auth.users where email = $1 and not is_sso_user";
        let email = email.trim().to_lowercase();
        let row = self.tables().await?.query_opt(sql, &[&email]).await?;
        Ok(row.map(|row| {
            let id = row.get("id");
            if row.get("is_unused") {
                Existing::Unused(id)
            } else {
                Existing::InUse(id)
            }
        }))
    }

    /// Whether somebody uses an account with this address already.
    pub(crate) async fn is_account_in_use(&self, email: &str) -> Result<bool, PlatformError> {
        let existing = self.existing_account(email).await?;
        Ok(matches!(existing, Some(Existing::InUse(_))))
    }

    /// Mails an invitation by the auth service. False if the account is in use: then there is no such mail.
    pub(crate) async fn mail_invitation(
        &self,
        email: &str,
        link: &str,
    ) -> Result<bool, PlatformError> {
        let start = "/invite?";
        let path = url::form_urlencoded::Serializer::for_suffix(start.to_owned(), start.len())
            .append_pair("redirect_to", link)
            .finish();
        let body = json!({ "email": email });
        let (status, answer) = self.administer(Method::POST, &path, &body).await?;
        if !status.is_success() {
            tracing::warn!(
                %status,
                "an invitation was not mailed: {}",
                answer["error_code"].as_str().unwrap_or_default()
            );
        }
        Ok(status.is_success())
    }

    /// Lets an account work as an operator at all; its roles are memberships.
    pub(crate) async fn mark_operator(&self, user: Uuid) -> Result<(), PlatformError> {
        let project = self.open(&ProjectName::Platform).await?;
        let mut auth = project.db.as_service(Service::Auth).await?;
        let sql = "update auth.users
                   set raw_app_meta_data =
                         coalesce(raw_app_meta_data, '{}'::jsonb) || jsonb_build_object('role', $2::text)
                   where id = $1 and raw_app_meta_data ->> 'role' is distinct from $2";
        auth.execute(sql, &[&user, &OPERATOR]).await?;
        Ok(())
    }

    /// Removes the second factors of an operator who lost them, and ends all sessions.
    pub async fn reset_second_factor(&self, email: &str) -> Result<(Uuid, u64), PlatformError> {
        let user = self
            .find_account(email)
            .await?
            .ok_or_else(|| PlatformError::NotFound(format!("There is no operator {email:?}")))?;
        let project = self.open(&ProjectName::Platform).await?;
        let mut auth = project.db.as_service(Service::Auth).await?;
        // Sessions first: one of aal2 must not outlive its factor.
        auth.execute("delete from auth.sessions where user_id = $1", &[&user])
            .await?;
        let removed = auth
            .execute("delete from auth.mfa_factors where user_id = $1", &[&user])
            .await?;
        // They count as aal2.
        self.revoke_tokens_of(user).await?;
        Ok((user, removed))
    }
}

/// Administrators may give users any password; operators choose a longer one.
fn check_password(password: &Secret) -> Result<(), PlatformError> {
    if password.expose().chars().count() < MIN_PASSWORD_CHARS {
        return Err(PlatformError::Invalid(format!(
            "A password of an operator has at least {MIN_PASSWORD_CHARS} characters"
        )));
    }
    Ok(())
}
