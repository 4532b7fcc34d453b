//! Flows that begin with one program and end with the other.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::hmac;
use plinth_testkit::sign;
use serde_json::{Value, json};

use crate::support::{AuthServer, rows};

const PASSWORD: &str = "correct horse";
const VERIFIER: &str = "a-verifier-that-is-long-enough-for-the-rules-of-pkce";

/// As Plinth writes the credential of a security key.
const CREDENTIAL: &str = r#"{
    "id": "AQL6", "publicKey": "pQECAyYgASFYIA==", "attestationType": "none", "transport": ["usb"],
    "flags": {
        "userPresent": true, "userVerified": true, "backupEligible": false, "backupState": false
    },
    "authenticator": {
        "AAGUID": "AAAAAAAAAAAAAAAAAAAAAA==", "signCount": 1, "cloneWarning": false
    }
}"#;

/// Where flows begin, and where they end.
pub(super) struct Pair<'a> {
    name: &'a str,
    begin: &'a AuthServer,
    end: &'a AuthServer,
    admin_url: &'a str,
}

impl<'a> Pair<'a> {
    pub(super) fn new(
        name: &'a str,
        begin: &'a AuthServer,
        end: &'a AuthServer,
        admin_url: &'a str,
    ) -> Self {
        Self {
            name,
            begin,
            end,
            admin_url,
        }
    }

    pub(super) fn check_all(&self) {
        eprintln!("flows that begin with {}", self.name);
        self.sign_in_and_refresh();
        self.code_by_mail();
        self.pkce();
        self.authenticator_app();
        self.code_by_phone();
        self.phone_as_second_factor();
        self.security_key();
        self.verified_security_key();
        self.invitation();
        self.email_change();
    }

    fn email(&self, case: &str) -> String {
        format!("{case}-{}@mail.test", self.name)
    }

    /// The newest message that a hook kept for this user.
    fn message(&self, user: &str) -> Value {
        let sql = format!(
            "select event from public.messages
             where '{user}' in (event->'user'->>'email', event->'user'->>'phone')
             order by id desc limit 1"
        );
        let found = rows(self.admin_url, &sql);
        let text = found.first().unwrap_or_else(|| panic!("none for {user}"));
        serde_json::from_str(text).expect("JSON")
    }

    /// The location that a link in a mail leads to.
    fn open_link(server: &AuthServer, message: &Value, kind: &str) -> String {
        let hash = message["email_data"]["token_hash"]
            .as_str()
            .expect("a hash");
        let path = format!("/verify?token={hash}&type={kind}&redirect_to=https://site.test/in");
        let response = server.http.get(&path).expect_status(303);
        response.header("location").expect("a location").to_owned()
    }

    /// A confirmed user: signed up on one side, the link opened on the other.
    fn confirmed_user(&self, case: &str) -> (String, Value) {
        let email = self.email(case);
        let body = json!({ "email": email, "password": PASSWORD });
        self.begin.post("/signup", &body);
        let location = Self::open_link(self.end, &self.message(&email), "signup");
        let tokens = fragment(&location);
        (email, tokens)
    }

    pub(super) fn sign_in_and_refresh(&self) {
        let (email, tokens) = self.confirmed_user("password");
        let body = json!({ "email": email, "password": PASSWORD });
        let elsewhere = self.end.post("/token?grant_type=password", &body);

        for tokens in [tokens, elsewhere] {
            let first = refresh(self.begin, &tokens);
            let second = refresh(self.end, &first);
            let third = refresh(self.begin, &second);
            for server in [self.begin, self.end] {
                server.of(&third).get("/user").expect_status(200);
            }
        }
    }

    fn code_by_mail(&self) {
        let (email, _) = self.confirmed_user("code");
        self.begin.post("/otp", &json!({ "email": email }));
        let code = self.message(&email)["email_data"]["token"].clone();

        let body = json!({ "type": "email", "email": email, "token": code });
        let tokens = self.end.post("/verify", &body);

        self.begin.of(&tokens).get("/user").expect_status(200);
    }

    fn pkce(&self) {
        let (email, _) = self.confirmed_user("pkce");
        let challenge = json!({
            "email": email, "code_challenge": VERIFIER, "code_challenge_method": "plain",
        });

        self.begin.post("/otp", &challenge);
        let location = Self::open_link(self.end, &self.message(&email), "magiclink");
        exchange(self.begin, &location);

        self.begin.post("/recover", &challenge);
        let location = Self::open_link(self.begin, &self.message(&email), "recovery");
        exchange(self.end, &location);
    }

    fn authenticator_app(&self) {
        let (email, tokens) = self.confirmed_user("totp");
        let body = json!({ "factor_type": "totp", "friendly_name": "app" });
        let factor = post_as(self.begin, &tokens, "/factors", &body);
        let secret = factor["totp"]["secret"].as_str().expect("a secret");

        let challenge = challenge(self.begin, &tokens, &factor);
        let raised = prove(self.end, &tokens, &factor, &challenge, &totp(secret));
        refresh(self.begin, &raised);

        let body = json!({ "email": email, "password": PASSWORD });
        let low = self.end.post("/token?grant_type=password", &body);
        let challenge = self::challenge(self.end, &low, &factor);
        prove(self.begin, &low, &factor, &challenge, &totp(secret));
    }

    fn code_by_phone(&self) {
        let phone = format!("1555000{:04}", self.name.as_bytes()[0]);
        self.begin.post("/otp", &json!({ "phone": phone }));
        let code = self.message(&phone)["sms"]["otp"].clone();

        let body = json!({ "type": "sms", "phone": phone, "token": code });
        let tokens = self.end.post("/verify", &body);

        self.begin.of(&tokens).get("/user").expect_status(200);
    }

    fn phone_as_second_factor(&self) {
        let (email, tokens) = self.confirmed_user("factor");
        let body = json!({
            "factor_type": "phone", "friendly_name": "phone", "phone": "+15551234567",
        });
        let factor = post_as(self.begin, &tokens, "/factors", &body);
        let challenge = challenge(self.begin, &tokens, &factor);
        let code = self.message(&email)["sms"]["otp"].clone();
        let code = code.as_str().expect("digits");

        let raised = prove(self.end, &tokens, &factor, &challenge, code);

        for server in [self.begin, self.end] {
            server.of(&raised).get("/user").expect_status(200);
        }
    }

    /// Its owner is not locked out.
    fn security_key(&self) {
        let (email, tokens) = self.confirmed_user("key");
        let body = json!({ "factor_type": "webauthn", "friendly_name": "key" });
        let factor = post_as(self.begin, &tokens, "/factors", &body);
        let id = factor["id"].as_str().expect("an id");
        let path = format!("/factors/{id}/challenge");
        post_as(
            self.begin,
            &tokens,
            &path,
            &json!({ "webauthn": { "rpId": "site.test" } }),
        );

        let body = json!({ "email": email, "password": PASSWORD });
        let tokens = self.end.post("/token?grant_type=password", &body);
        self.end.of(&tokens).get("/user").expect_status(200);
        let removed = self
            .end
            .of(&tokens)
            .send("DELETE", &format!("/factors/{id}"), "");
        removed.expect("a response").expect_status(200);
    }

    /// A key that was registered with Plinth can be read by both.
    fn verified_security_key(&self) {
        let (email, tokens) = self.confirmed_user("registered-key");
        let body = json!({ "factor_type": "webauthn", "friendly_name": "key" });
        let factor = post_as(self.begin, &tokens, "/factors", &body);
        let id = factor["id"].as_str().expect("an id");
        let sql = format!(
            "update auth.mfa_factors
             set status = 'verified', web_authn_credential = '{CREDENTIAL}' where id = '{id}'"
        );
        rows(self.admin_url, &sql);

        let body = json!({ "email": email, "password": PASSWORD });
        for server in [self.begin, self.end] {
            let tokens = server.post("/token?grant_type=password", &body);
            let user = server.of(&tokens).get("/user").expect_status(200).json();
            assert_eq!(user["factors"][0]["status"], "verified");
            let path = format!("/factors/{id}/challenge");
            let relying_party = json!({ "webauthn": { "rpId": "site.test" } });
            let challenge = post_as(server, &tokens, &path, &relying_party);
            let options = &challenge["webauthn"]["credential_options"]["publicKey"];
            assert_eq!(options["allowCredentials"][0]["id"], "AQL6", "{challenge}");
        }
    }

    fn invitation(&self) {
        let email = self.email("invited");
        let admin = self.begin.http.clone().token(&service_role_token());
        let body = json!({ "email": email }).to_string();
        admin.post("/invite", &body).expect_status(200);

        let location = Self::open_link(self.end, &self.message(&email), "invite");

        let tokens = fragment(&location);
        self.begin.of(&tokens).get("/user").expect_status(200);
    }

    fn email_change(&self) {
        let (email, tokens) = self.confirmed_user("old");
        let new = self.email("new");
        let body = json!({ "email": new }).to_string();
        let asked = self.begin.of(&tokens).send("PUT", "/user", &body);
        asked.expect("a response").expect_status(200);
        let message = self.message(&email);

        for hash in ["token_hash", "token_hash_new"] {
            let hash = message["email_data"][hash].as_str().expect("a hash");
            let path = format!("/verify?token={hash}&type=email_change");
            self.end.http.get(&path).expect_status(303);
        }

        let user = self
            .begin
            .of(&tokens)
            .get("/user")
            .expect_status(200)
            .json();
        assert_eq!(user["email"], new);
    }
}

#[track_caller]
fn post_as(server: &AuthServer, tokens: &Value, path: &str, body: &Value) -> Value {
    let response = server.of(tokens).post(path, &body.to_string());
    response.expect_status(200).json()
}

#[track_caller]
fn refresh(server: &AuthServer, tokens: &Value) -> Value {
    let body = json!({ "refresh_token": tokens["refresh_token"] });
    server.post("/token?grant_type=refresh_token", &body)
}

#[track_caller]
fn challenge(server: &AuthServer, tokens: &Value, factor: &Value) -> Value {
    let id = factor["id"].as_str().expect("an id");
    let path = format!("/factors/{id}/challenge");
    post_as(server, tokens, &path, &json!({ "channel": "sms" }))
}

#[track_caller]
fn prove(
    server: &AuthServer,
    tokens: &Value,
    factor: &Value,
    challenge: &Value,
    code: &str,
) -> Value {
    let id = factor["id"].as_str().expect("an id");
    let body = json!({ "challenge_id": challenge["id"], "code": code });
    post_as(server, tokens, &format!("/factors/{id}/verify"), &body)
}

/// Exchanges the code of a redirect.
#[track_caller]
fn exchange(server: &AuthServer, location: &str) -> Value {
    let (_, code) = location
        .split_once("code=")
        .unwrap_or_else(|| panic!("no code in {location}"));
    let code = code.split(['&', '#']).next().expect("a value");
    let body = json!({ "auth_code": code, "code_verifier": VERIFIER });
    server.post("/token?grant_type=pkce", &body)
}

/// A token of an administrator.
fn service_role_token() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let expiry = now.expect("after 1970").as_secs() + 3600;
    sign(&json!({ "role": "service_role", "aud": "authenticated", "exp": expiry }))
}

/// The tokens in the fragment of a redirect.
#[track_caller]
fn fragment(location: &str) -> Value {
    let (_, fragment) = location
        .split_once('#')
        .unwrap_or_else(|| panic!("no tokens in {location}"));
    let pairs = fragment.split('&').filter_map(|pair| pair.split_once('='));
    let pairs = pairs.map(|(name, value)| (name.to_owned(), json!(value)));
    Value::Object(pairs.collect())
}

/// The code that an authenticator app shows now (RFC 6238).
fn totp(secret: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let step = now.expect("after 1970").as_secs() / 30;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &base32(secret));
    let hash = hmac::sign(&key, &step.to_be_bytes());
    let hash = hash.as_ref();
    let at = usize::from(hash[19] & 0xf);
    let bytes: [u8; 4] = hash[at..at + 4].try_into().expect("four bytes");
    format!(
        "{:06}",
        (u32::from_be_bytes(bytes) & 0x7fff_ffff) % 1_000_000
    )
}

fn base32(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bits: Vec<bool> = Vec::new();
    for letter in text.trim_end_matches('=').chars() {
        let digit = digits.find(letter).expect("base32");
        bits.extend((0..5).rev().map(|place| digit >> place & 1 == 1));
    }
    let byte = |bits: &[bool]| bits.iter().fold(0, |byte, bit| byte << 1 | u8::from(*bit));
    bits.chunks_exact(8).map(byte).collect()
}
