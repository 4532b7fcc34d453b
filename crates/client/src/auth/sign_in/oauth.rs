//! OAuth and SSO: the URL to open in a browser (client contract S64).

use super::super::body::Body;
use super::super::pkce::RedirectType;
use super::super::{Auth, AuthError};
use crate::call_options::{CallOptions, with_call_options};

/// An identity provider. Use [`Provider::Other`] for those not listed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum Provider {
    Apple,
    Azure,
    Bitbucket,
    Discord,
    Facebook,
    Figma,
    Github,
    Gitlab,
    Google,
    Kakao,
    Keycloak,
    LinkedinOidc,
    Notion,
    SlackOidc,
    Spotify,
    Twitch,
    Twitter,
    Workos,
    Zoom,
    /// Any other, by its name on the server.
    Other(String),
}

impl Provider {
    /// Its name on the server.
    pub fn name(&self) -> &str {
        match self {
            Self::Apple => "apple",
            Self::Azure => "azure",
            Self::Bitbucket => "bitbucket",
            Self::Discord => "discord",
            Self::Facebook => "facebook",
            Self::Figma => "figma",
            Self::Github => "github",
            Self::Gitlab => "gitlab",
            Self::Google => "google",
            Self::Kakao => "kakao",
            Self::Keycloak => "keycloak",
            Self::LinkedinOidc => "linkedin_oidc",
            Self::Notion => "notion",
            Self::SlackOidc => "slack_oidc",
            Self::Spotify => "spotify",
            Self::Twitch => "twitch",
            Self::Twitter => "twitter",
            Self::Workos => "workos",
            Self::Zoom => "zoom",
            Self::Other(name) => name,
        }
    }
}

/// The URL to open, and the flow id of the pending sign-in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuthStart {
    /// Open this.
    pub url: String,
    /// For [`ExchangeRequest::flow_id`](super::ExchangeRequest::flow_id) if several sign-ins may be
    /// pending at once.
    pub flow_id: String,
}

impl Auth {
    /// Begins an OAuth sign-in. The browser is redirected back with a code, for
    /// [`Auth::session_from_redirect`] or [`Auth::exchange_code`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), plinth_client::AuthError> {
    /// use plinth_client::{Client, auth::Provider};
    ///
    /// let client = Client::new("http://localhost:54321", "anon-key")?;
    /// let start = client
    ///     .auth()
    ///     .sign_in_with_oauth(Provider::Github)
    ///     .redirect_to("http://localhost:3000/callback")
    ///     .build()
    ///     .await?;
    /// assert!(start.url.starts_with("http://localhost:54321/auth/v1/authorize?provider=github&"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn sign_in_with_oauth(&self, provider: Provider) -> OAuthRequest {
        OAuthRequest::new(self, provider, false)
    }

    /// Begins to link a provider to the signed-in user.
    pub fn link_identity(&self, provider: Provider) -> OAuthRequest {
        OAuthRequest::new(self, provider, true)
    }

    /// Begins an SSO sign-in at an organisation.
    pub fn sign_in_with_sso(&self, at: Sso) -> SsoRequest {
        SsoRequest {
            auth: self.clone(),
            at,
            redirect_to: None,
            captcha: None,
            options: CallOptions::default(),
        }
    }
}

/// Beginning to sign in at a provider; see [`Auth::sign_in_with_oauth`].
#[must_use = "nothing happens before `build`"]
pub struct OAuthRequest {
    auth: Auth,
    provider: Provider,
    is_linking: bool,
    scopes: Option<String>,
    redirect_to: Option<String>,
    extra: Vec<(String, String)>,
    options: CallOptions,
}

with_call_options!(OAuthRequest, SsoRequest);

impl OAuthRequest {
    fn new(auth: &Auth, provider: Provider, is_linking: bool) -> Self {
        Self {
            auth: auth.clone(),
            provider,
            is_linking,
            scopes: None,
            redirect_to: None,
            extra: Vec::new(),
            options: CallOptions::default(),
        }
    }

    /// Requested scopes, separated by spaces.
    pub fn scopes(mut self, scopes: impl Into<String>) -> Self {
        self.scopes = Some(scopes.into());
        self
    }

    /// The redirect URL.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// An additional parameter for the provider, such as `prompt`.
    pub fn query_param(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.extra.push((name.into(), value.into()));
        self
    }

    /// Stores the PKCE verifier and returns the URL to open. Only linking makes a request.
    pub async fn build(self) -> Result<OAuthStart, AuthError> {
        let auth = self.auth.with_options(&self.options);
        let api = auth.api().for_call(&self.options)?;
        let token = if self.is_linking {
            Some(auth.signed_in().await?)
        } else {
            None
        };
        auth.ready().await;
        let flow = auth.engine.flows.begin(RedirectType::SignIn).await?;
        let redirect = auth.redirect_for(self.redirect_to.as_deref(), Some(&flow));
        let given = [
            ("provider", Some(self.provider.name().to_owned())),
            ("redirect_to", redirect),
            ("scopes", self.scopes),
            ("code_challenge", Some(flow.challenge().to_owned())),
            ("code_challenge_method", Some("s256".to_owned())),
        ];
        let own = given
            .iter()
            .filter_map(|(name, value)| Some((*name, value.clone()?)));
        let theirs = self
            .extra
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()));
        let mut query: Vec<(&str, String)> = own.chain(theirs).collect();
        let url = match token {
            None => Ok(api.url("/authorize", &query)),
            Some(session) => {
                query.push(("skip_http_redirect", "true".to_owned()));
                let linked = api.link_identity(session.access_token(), &query).await;
                auth.settle_flow(Some(&flow), linked).await
            }
        }?;
        Ok(OAuthStart {
            url,
            flow_id: flow.id().to_owned(),
        })
    }
}

/// The organisation of an SSO sign-in.
#[derive(Clone, Debug)]
pub enum Sso {
    /// By e-mail domain.
    Domain(String),
    /// By provider id, a UUID.
    Provider(String),
}

/// Beginning to sign in at an organisation; see [`Auth::sign_in_with_sso`].
#[must_use = "nothing is sent before `send`"]
pub struct SsoRequest {
    auth: Auth,
    at: Sso,
    redirect_to: Option<String>,
    captcha: Option<String>,
    options: CallOptions,
}

impl SsoRequest {
    /// The redirect URL.
    pub fn redirect_to(mut self, url: impl Into<String>) -> Self {
        self.redirect_to = Some(url.into());
        self
    }

    /// The captcha token.
    pub fn captcha(mut self, token: impl Into<String>) -> Self {
        self.captcha = Some(token.into());
        self
    }

    /// Requests the URL of the organisation's sign-in page.
    pub async fn send(self) -> Result<OAuthStart, AuthError> {
        let auth = self.auth;
        auth.ready().await;
        let api = auth.api().for_call(&self.options)?;
        let flow = auth.engine.flows.begin(RedirectType::SignIn).await?;
        let body = match self.at {
            Sso::Domain(domain) => Body::default().with("domain", domain),
            Sso::Provider(id) => Body::default().with("provider_id", id),
        };
        let body = body
            .with_some(
                "redirect_to",
                auth.redirect_for(self.redirect_to.as_deref(), Some(&flow)),
            )
            .with("skip_http_redirect", true)
            .captcha(self.captcha.as_deref())
            .flow(Some(&flow));
        let url = api.sso(body.finish()).await;
        Ok(OAuthStart {
            url: auth.settle_flow(Some(&flow), url).await?,
            flow_id: flow.id().to_owned(),
        })
    }
}
