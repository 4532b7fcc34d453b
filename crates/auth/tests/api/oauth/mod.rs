//! Sign-in through providers, identities, ID tokens and custom providers (auth contract §2.8, §2.9,
//! §2.15, §5, §6), with an identity provider in the test process.

mod attacks;
mod custom;
mod first_password;
mod flow;
mod id_token;
mod id_token_providers;
mod idp;
mod linking;
mod linking_domains;
mod manual;
mod quirks;
mod unlink;

use std::collections::HashMap;

use serde_json::{Value, json};
use url::Url;

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests};
use idp::{Idp, settings};

const CONFIRM: (&str, &str) = ("auth.email.enable_confirmations", "true");
const LINKING: (&str, &str) = ("auth.enable_manual_linking", "true");
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/// A service with one provider.
async fn start(provider: &str, more: &[(&str, &str)]) -> (Api, Idp) {
    let idp = Idp::start().await;
    let api = start_with(&[(provider, &idp)], more).await;
    (api, idp)
}

async fn start_with(providers: &[(&str, &Idp)], more: &[(&str, &str)]) -> Api {
    let own: Vec<(String, String)> = providers
        .iter()
        .flat_map(|(name, idp)| settings(name, &idp.url))
        .collect();
    let own = own
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let all: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
    Api::start(&all).await
}

/// The parameters of a redirect.
struct Landing {
    url: Url,
    query: HashMap<String, String>,
    fragment: HashMap<String, String>,
}

#[track_caller]
fn landing(reply: &Reply, status: u16) -> Landing {
    assert_eq!(reply.status, status, "{reply:?}");
    let url = Url::parse(reply.location()).expect("a URL");
    let pairs = |text: &str| {
        let pairs = url::form_urlencoded::parse(text.as_bytes());
        pairs.into_owned().collect()
    };
    Landing {
        query: pairs(url.query().unwrap_or_default()),
        fragment: pairs(url.fragment().unwrap_or_default()),
        url,
    }
}

impl Landing {
    fn query(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    fn fragment(&self, name: &str) -> &str {
        self.fragment.get(name).map_or("", String::as_str)
    }

    /// Expects an error in both query and fragment.
    #[track_caller]
    fn expect_error(&self, error: &str, code: &str) {
        let here = format!("{}", self.url);
        for (name, value) in [("error", error), ("error_code", code)] {
            assert_eq!(self.query(name), value, "{here}");
            assert_eq!(self.fragment(name), value, "{here}");
        }
        assert_eq!(
            self.query("error_description"),
            self.fragment("error_description")
        );
        assert_eq!(self.fragment.get("sb").map(String::as_str), Some(""));
        assert!(!self.fragment.contains_key("access_token"), "{here}");
        assert!(!self.query.contains_key("code"), "{here}");
    }
}

/// Starts the flow; returns its state.
async fn begin_flow(api: &Api, query: &str) -> String {
    let reply = api.get(&format!("/authorize?{query}")).without_key().await;
    landing(&reply, 302).query("state").to_owned()
}

/// Calls back with a code.
async fn finish_flow(api: &Api, state: &str) -> Reply {
    let path = format!("/callback?state={state}&code=a-code");
    api.get(&path).without_key().await
}

/// Runs the whole flow; returns the final redirect.
async fn run_flow(api: &Api, query: &str) -> Landing {
    let state = begin_flow(api, query).await;
    landing(&finish_flow(api, &state).await, 302)
}

/// Signs in through the provider; returns the access token and user.
async fn sign_in(api: &Api, provider: &str) -> (String, Value) {
    let landed = run_flow(api, &format!("provider={provider}")).await;
    let token = landed.fragment("access_token").to_owned();
    assert!(!token.is_empty(), "{}", landed.url);
    let user = api.get("/user").bearer(&token).await.ok();
    (token, user)
}

/// The user's identity of this provider.
fn identity<'a>(user: &'a Value, provider: &str) -> &'a Value {
    let identities = user["identities"].as_array().expect("identities");
    let mut found = identities.iter().filter(|one| one["provider"] == provider);
    found
        .next()
        .unwrap_or_else(|| panic!("no {provider}: {user}"))
}

fn providers(user: &Value) -> Value {
    let identities = user["identities"].as_array().expect("identities");
    json!(
        identities
            .iter()
            .map(|one| one["provider"].clone())
            .collect::<Vec<_>>()
    )
}
