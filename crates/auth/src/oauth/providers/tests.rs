//! The profile from each provider's response, in the shape of the provider's documentation.

use serde_json::{Value, json};

use super::{
    profile::Profile,
    spec::{Mapping, ProfileSource},
    table,
};

fn api_mapping(name: &str) -> &'static Mapping {
    let spec = table::find(name).expect("a provider");
    match &spec.profile_source {
        ProfileSource::Api(api) | ProfileSource::IdTokenOrApi(api) => &api.mapping,
        ProfileSource::TokenResponse { mapping, .. } => mapping,
        ProfileSource::IdToken => panic!("{name} is read from its ID token"),
    }
}

fn token_mapping(name: &str) -> &'static Mapping {
    let spec = table::find(name).expect("a provider");
    let rules = spec.id_token.as_ref().expect("ID tokens");
    rules.mapping.as_ref().expect("a mapping")
}

#[track_caller]
fn check(mapping: &Mapping, response: Value, expected: Value) {
    let profile = Profile::read(mapping, &response, "https://idp.test").expect("a person");
    assert_eq!(Value::Object(profile.identity_data()), expected);
}

#[test]
fn names_are_known_once_and_in_order() {
    let names = [
        "apple",
        "azure",
        "bitbucket",
        "discord",
        "facebook",
        "figma",
        "fly",
        "github",
        "gitlab",
        "google",
        "kakao",
        "keycloak",
        "linkedin",
        "linkedin_oidc",
        "notion",
        "slack",
        "slack_oidc",
        "snapchat",
        "spotify",
        "twitch",
        "twitter",
        "vercel_marketplace",
        "workos",
        "x",
        "zoom",
    ];
    for name in names {
        assert_eq!(table::find(name).map(|spec| spec.name), Some(name));
    }
    assert!(table::find("email").is_none());
    assert!(table::find("").is_none());
}

#[test]
fn issuers_lead_to_their_provider() {
    let find = |issuer: &str| table::find_by_issuer(issuer).map(|spec| spec.name);
    assert_eq!(find("https://appleid.apple.com"), Some("apple"));
    assert_eq!(find("https://account.apple.com"), Some("apple"));
    assert_eq!(find("https://accounts.google.com"), Some("google"));
    assert_eq!(
        find("https://login.microsoftonline.com/t/v2.0"),
        Some("azure")
    );
    assert_eq!(find("https://evil.test"), None);
    assert_eq!(find(""), None);
}

#[test]
fn apple() {
    check(
        token_mapping("apple"),
        json!({
            "iss": "https://appleid.apple.com", "sub": "001.a", "email": "X@privaterelay.appleid.com",
            "email_verified": "true", "is_private_email": "true", "auth_time": 7,
        }),
        json!({
            "iss": "https://appleid.apple.com", "sub": "001.a", "provider_id": "001.a",
            "email": "x@privaterelay.appleid.com", "email_verified": true, "phone_verified": false,
            "custom_claims": { "is_private_email": true, "auth_time": 7 },
        }),
    );
}

#[test]
fn azure() {
    let claims = |edov: Value| {
        json!({
            "iss": "https://login.microsoftonline.com/t/v2.0", "sub": "s", "aud": "c", "exp": 1,
            "name": "Ann Lee", "preferred_username": "ann", "email": "ann@acme.test",
            "tid": "t", "xms_edov": edov,
        })
    };
    let expected = |edov: Value, is_verified: bool| {
        json!({
            "iss": "https://login.microsoftonline.com/t/v2.0", "sub": "s", "provider_id": "s",
            "full_name": "Ann Lee", "preferred_username": "ann", "email": "ann@acme.test",
            "email_verified": is_verified, "phone_verified": false,
            "custom_claims": { "email": "ann@acme.test", "tid": "t", "xms_edov": edov },
        })
    };
    for (edov, is_verified) in [
        (json!(true), true),
        (json!("1"), true),
        (json!("true"), true),
        (json!(false), false),
        (json!("0"), false),
        (json!(1), false),
        (Value::Null, true),
    ] {
        check(
            token_mapping("azure"),
            claims(edov.clone()),
            expected(edov, is_verified),
        );
    }
}

#[test]
fn bitbucket() {
    check(
        api_mapping("bitbucket"),
        json!({
            "uuid": "{1}", "display_name": "Ann Lee", "avatar": { "href": "https://a.test/p" },
            "emails": { "values": [
                { "email": "other@b.test", "is_primary": false, "is_confirmed": false },
                { "email": "ann@b.test", "is_primary": true, "is_confirmed": true },
            ] },
        }),
        json!({
            "iss": "https://idp.test", "sub": "{1}", "provider_id": "{1}", "name": "Ann Lee",
            "full_name": "Ann Lee", "picture": "https://a.test/p", "avatar_url": "https://a.test/p",
            "email": "ann@b.test", "email_verified": true, "phone_verified": false,
        }),
    );
}

#[test]
fn discord() {
    let expected = |picture: &str| {
        json!({
            "iss": "https://idp.test", "sub": "80", "provider_id": "80", "name": "ann#1337",
            "full_name": "ann", "picture": picture, "avatar_url": picture,
            "email": "ann@b.test", "email_verified": false, "phone_verified": false,
            "custom_claims": { "global_name": "Ann" },
        })
    };
    for (avatar, picture) in [
        (
            json!("8342"),
            "https://cdn.discordapp.com/avatars/80/8342.png",
        ),
        (
            json!("a_83"),
            "https://cdn.discordapp.com/avatars/80/a_83.gif",
        ),
        (
            Value::Null,
            "https://cdn.discordapp.com/embed/avatars/2.png",
        ),
    ] {
        check(
            api_mapping("discord"),
            json!({
                "id": "80", "username": "ann", "discriminator": "1337", "global_name": "Ann",
                "avatar": avatar, "email": "ann@b.test", "verified": false,
            }),
            expected(picture),
        );
    }
}

#[test]
fn facebook() {
    check(
        api_mapping("facebook"),
        json!({
            "id": "1", "email": "ann@b.test", "first_name": "Ann", "last_name": "Lee",
            "name": "Ann Lee", "picture": { "data": { "url": "https://a.test/p" } },
        }),
        json!({
            "iss": "https://idp.test/me?fields=email,first_name,last_name,name,picture",
            "sub": "1", "provider_id": "1", "name": "Ann Lee", "full_name": "Ann Lee",
            "nickname": "Ann Lee", "slug": "Ann Lee", "picture": "https://a.test/p",
            "avatar_url": "https://a.test/p", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
        }),
    );
    check(
        token_mapping("facebook"),
        json!({ "iss": "https://www.facebook.com", "sub": "1", "name": "Ann", "picture": "p" }),
        json!({
            "iss": "https://www.facebook.com", "sub": "1", "provider_id": "1", "name": "Ann",
            "picture": "p", "email_verified": false, "phone_verified": false,
        }),
    );
}

#[test]
fn figma_and_fly() {
    check(
        api_mapping("figma"),
        json!({ "id": "1", "email": "ann@b.test", "handle": "Ann", "img_url": "https://a.test/p" }),
        json!({
            "iss": "https://idp.test", "sub": "1", "provider_id": "1", "name": "Ann",
            "full_name": "Ann", "avatar_url": "https://a.test/p", "email": "ann@b.test",
            "email_verified": true, "phone_verified": false,
        }),
    );
    check(
        api_mapping("fly"),
        json!({
            "user_id": "u", "user_name": "Ann", "email": "ann@b.test", "resource_owner_id": "r",
            "organizations": [{ "id": "o", "role": "member" }], "scope": ["read"],
            "application": { "uid": "x" }, "created_at": 5, "expires_in": 6,
        }),
        json!({
            "iss": "https://idp.test", "sub": "u", "provider_id": "u", "full_name": "Ann",
            "email": "ann@b.test", "email_verified": true, "phone_verified": false,
            "custom_claims": {
                "resource_owner_id": "r", "organizations": [{ "id": "o", "role": "member" }],
                "scope": ["read"], "application": { "uid": "x" }, "created_at": 5,
            },
        }),
    );
}

#[test]
fn github() {
    check(
        api_mapping("github"),
        json!({
            "id": 123, "login": "ann", "name": "Ann Lee", "avatar_url": "https://a.test/p",
            "email": "public@b.test",
            "emails": [
                { "email": "Ann@B.test", "primary": true, "verified": true },
                { "email": "other@b.test", "primary": false, "verified": false },
            ],
        }),
        json!({
            "iss": "https://idp.test", "sub": "123", "provider_id": "123", "name": "Ann Lee",
            "full_name": "Ann Lee", "preferred_username": "ann", "user_name": "ann",
            "avatar_url": "https://a.test/p", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
        }),
    );
}

#[test]
fn gitlab() {
    let response = |confirmed_at: Value| {
        json!({
            "id": 5, "name": "Ann Lee", "avatar_url": "https://a.test/p", "email": "ann@b.test",
            "confirmed_at": confirmed_at,
            "emails": [{ "id": 1, "email": "other@b.test", "confirmed_at": "2020-01-01" }],
        })
    };
    let expected = |is_verified: bool| {
        json!({
            "iss": "https://idp.test", "sub": "5", "provider_id": "5", "name": "Ann Lee",
            "full_name": "Ann Lee", "picture": "https://a.test/p",
            "avatar_url": "https://a.test/p", "email": "ann@b.test",
            "email_verified": is_verified, "phone_verified": false,
        })
    };
    let mapping = api_mapping("gitlab");
    check(mapping, response(json!("2020-01-01")), expected(true));
    check(mapping, response(Value::Null), expected(false));

    let profile = Profile::read(mapping, &response(json!("2020")), "").expect("a person");
    assert!(profile.has_verified("ann@b.test"));
    assert!(!profile.has_verified("other@b.test"));
}

#[test]
fn google() {
    check(
        token_mapping("google"),
        json!({
            "iss": "https://accounts.google.com", "sub": "9", "email": "ann@acme.test",
            "email_verified": true, "name": "Ann", "picture": "p", "hd": "acme.test", "azp": "c",
        }),
        json!({
            "iss": "https://accounts.google.com", "sub": "9", "provider_id": "9",
            "email": "ann@acme.test", "email_verified": true, "phone_verified": false,
            "name": "Ann", "full_name": "Ann", "picture": "p", "avatar_url": "p",
            "custom_claims": { "hd": "acme.test" },
        }),
    );
    check(
        api_mapping("google"),
        json!({ "id": "9", "email": "ann@acme.test", "verified_email": true, "name": "Ann" }),
        json!({
            "iss": "https://idp.test/userinfo/v2/me", "sub": "9", "provider_id": "9",
            "email": "ann@acme.test", "email_verified": true, "phone_verified": false,
            "name": "Ann", "full_name": "Ann",
        }),
    );
}

#[test]
fn kakao() {
    let response = |is_valid: bool, is_verified: bool| {
        json!({ "id": 7, "kakao_account": {
            "email": "ann@b.test", "is_email_valid": is_valid, "is_email_verified": is_verified,
            "profile": { "nickname": "Ann", "profile_image_url": "p" },
        } })
    };
    for (is_valid, is_verified) in [(true, true), (true, false), (false, true)] {
        check(
            api_mapping("kakao"),
            response(is_valid, is_verified),
            json!({
                "iss": "https://idp.test", "sub": "7", "provider_id": "7", "name": "Ann",
                "full_name": "Ann", "preferred_username": "Ann", "user_name": "Ann",
                "avatar_url": "p", "email": "ann@b.test",
                "email_verified": is_valid && is_verified, "phone_verified": false,
            }),
        );
    }
}

#[test]
fn keycloak() {
    check(
        api_mapping("keycloak"),
        json!({
            "sub": "k", "name": "Ann Lee", "email": "ann@b.test", "email_verified": true,
            "groups": ["staff"],
        }),
        json!({
            "iss": "https://idp.test", "sub": "k", "provider_id": "k", "name": "Ann Lee",
            "full_name": "Ann Lee", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false, "custom_claims": { "groups": ["staff"] },
        }),
    );
}

#[test]
fn linkedin() {
    let name = |text: &str| {
        json!({
            "localized": { "de_DE": text, "en_US": "x" },
            "preferredLocale": { "language": "de", "country": "DE" },
        })
    };
    check(
        api_mapping("linkedin"),
        json!({
            "id": "l", "firstName": name("Ann"), "lastName": name("Lee"),
            "profilePicture": { "displayImage~": { "elements": [
                { "identifiers": [{ "identifier": "https://a.test/p" }] },
            ] } },
            "emails": { "elements": [{ "handle": "h", "handle~": { "emailAddress": "ann@b.test" } }] },
        }),
        json!({
            "iss": "https://idp.test", "sub": "l", "provider_id": "l", "name": "Ann Lee",
            "full_name": "Ann Lee", "picture": "https://a.test/p",
            "avatar_url": "https://a.test/p", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
        }),
    );
    check(
        token_mapping("linkedin_oidc"),
        json!({
            "iss": "https://www.linkedin.com/oauth", "sub": "l", "given_name": "Ann",
            "family_name": "Lee", "locale": "de_DE", "picture": "p", "email": "ann@b.test",
            "email_verified": "true",
        }),
        json!({
            "iss": "https://www.linkedin.com/oauth", "sub": "l", "provider_id": "l",
            "name": "Ann Lee", "given_name": "Ann", "family_name": "Lee", "locale": "de_DE",
            "picture": "p", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
        }),
    );
}

#[test]
fn notion() {
    check(
        api_mapping("notion"),
        json!({ "object": "user", "bot": { "owner": { "user": {
            "id": "n", "name": "Ann", "avatar_url": "p", "person": { "email": "ann@b.test" },
        } } } }),
        json!({
            "iss": "https://idp.test", "sub": "n", "provider_id": "n", "name": "Ann",
            "full_name": "Ann", "picture": "p", "avatar_url": "p", "email": "ann@b.test",
            "email_verified": true, "phone_verified": false,
        }),
    );
}

#[test]
fn slack() {
    for (provider, is_verified) in [("slack", true), ("slack_oidc", false)] {
        check(
            api_mapping(provider),
            json!({
                "ok": true, "sub": "ignored", "https://slack.com/user_id": "U1",
                "https://slack.com/team_id": "T1", "name": "Ann", "picture": "p",
                "email": "ann@b.test", "email_verified": false,
            }),
            json!({
                "iss": "https://idp.test", "sub": "U1", "provider_id": "U1", "name": "Ann",
                "full_name": "Ann", "picture": "p", "avatar_url": "p", "email": "ann@b.test",
                "email_verified": is_verified, "phone_verified": false,
                "custom_claims": { "https://slack.com/team_id": "T1" },
            }),
        );
    }
}

#[test]
fn snapchat() {
    check(
        api_mapping("snapchat"),
        json!({ "data": { "me": {
            "externalId": "s", "displayName": "Ann", "bitmoji": { "avatar": "p" },
        } } }),
        json!({
            "iss": "https://accounts.snapchat.com/accounts/oauth2/token", "sub": "s",
            "provider_id": "s", "name": "Ann", "full_name": "Ann", "slug": "Ann",
            "picture": "p", "avatar_url": "p", "email_verified": false, "phone_verified": false,
        }),
    );
}

#[test]
fn spotify() {
    check(
        api_mapping("spotify"),
        json!({
            "id": "s", "display_name": "Ann", "email": "ann@b.test",
            "images": [
                { "url": "small", "width": 64, "height": 64 },
                { "url": "large", "width": 300, "height": 300 },
                { "url": "unknown", "width": null, "height": null },
            ],
        }),
        json!({
            "iss": "https://idp.test", "sub": "s", "provider_id": "s", "name": "Ann",
            "full_name": "Ann", "picture": "large", "avatar_url": "large", "email": "ann@b.test",
            "email_verified": false, "phone_verified": false,
        }),
    );
}

#[test]
fn twitch() {
    check(
        api_mapping("twitch"),
        json!({ "data": [{
            "id": "1", "login": "ann", "display_name": "Ann", "type": "", "description": "d",
            "broadcaster_type": "partner", "profile_image_url": "p", "offline_image_url": "o",
            "view_count": 0, "email": "ann@b.test",
        }] }),
        json!({
            "iss": "https://idp.test", "sub": "1", "provider_id": "1", "name": "ann",
            "full_name": "ann", "nickname": "Ann", "slug": "Ann", "picture": "p",
            "avatar_url": "p", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
            "custom_claims": {
                "broadcaster_type": "partner", "description": "d", "type": "",
                "offline_image_url": "o", "view_count": 0,
            },
        }),
    );
}

#[test]
fn twitter_and_x() {
    check(
        api_mapping("twitter"),
        json!({
            "id_str": "1", "name": "Ann", "screen_name": "ann", "email": "ann@b.test",
            "profile_image_url_https": "p",
        }),
        json!({
            "iss": "https://idp.test/1.1/account/verify_credentials.json", "sub": "1",
            "provider_id": "1", "name": "Ann", "full_name": "Ann", "preferred_username": "ann",
            "user_name": "ann", "picture": "p", "avatar_url": "p", "email": "ann@b.test",
            "email_verified": true, "phone_verified": false,
        }),
    );
    check(
        api_mapping("x"),
        json!({ "data": {
            "id": "1", "name": "Ann", "username": "ann", "profile_image_url": "p",
            "url": "https://a.test", "created_at": "2020", "confirmed_email": "ann@b.test",
        } }),
        json!({
            "iss": "https://idp.test", "sub": "1", "provider_id": "1", "name": "Ann",
            "full_name": "Ann", "preferred_username": "ann", "user_name": "ann", "picture": "p",
            "avatar_url": "p", "profile": "https://x.com/ann", "website": "https://a.test",
            "email": "ann@b.test", "email_verified": true, "phone_verified": false,
            "custom_claims": { "created_at": "2020" },
        }),
    );
}

#[test]
fn vercel_marketplace() {
    let claims = |global: Value| {
        json!({
            "iss": "https://marketplace.vercel.com", "sub": "a:b", "global_user_id": global,
            "user_email": "ann@b.test", "user_name": "Ann", "user_avatar_url": "p",
        })
    };
    for (global, subject) in [(json!("g"), "global_user_id:g"), (Value::Null, "a:b")] {
        check(
            token_mapping("vercel_marketplace"),
            claims(global),
            json!({
                "iss": "https://marketplace.vercel.com", "sub": subject, "provider_id": subject,
                "name": "Ann", "picture": "p", "email": "ann@b.test", "email_verified": true,
                "phone_verified": false,
            }),
        );
    }
}

#[test]
fn workos_and_zoom() {
    check(
        api_mapping("workos"),
        json!({
            "id": "w", "email": "ann@b.test", "first_name": "Ann", "last_name": "Lee",
            "connection_id": "c", "organization_id": "o",
        }),
        json!({
            "iss": "https://idp.test", "sub": "w", "provider_id": "w", "name": "Ann Lee",
            "full_name": "Ann Lee", "email": "ann@b.test", "email_verified": true,
            "phone_verified": false,
            "custom_claims": { "connection_id": "c", "organization_id": "o" },
        }),
    );
    for (login_type, verified, is_verified) in [
        (json!("100"), 0, false),
        (json!("100"), 1, true),
        (json!(100), 0, false),
        (json!("1"), 0, true),
    ] {
        check(
            api_mapping("zoom"),
            json!({
                "id": "z", "first_name": "Ann", "last_name": "", "email": "ann@b.test",
                "verified": verified, "login_type": login_type, "pic_url": "p",
            }),
            json!({
                "iss": "https://idp.test", "sub": "z", "provider_id": "z", "name": "Ann",
                "full_name": "Ann", "picture": "p", "avatar_url": "p", "email": "ann@b.test",
                "email_verified": is_verified, "phone_verified": false,
            }),
        );
    }
}

#[test]
fn claims_with_their_usual_names() {
    let raw = json!({
        "iss": "https://idp.test", "sub": 7, "aud": "c", "exp": 1, "name": "Ann\u{0}Lee",
        "given_name": "", "locale": null, "picture": 5, "email": "ANN@b.test",
        "email_verified": "true", "phone_verified": true, "updated_at": 1_700_000_000,
        "role": "admin",
    });
    let profile = Profile::from_claims(raw.as_object().expect("an object")).expect("a person");

    assert_eq!(
        Value::Object(profile.identity_data()),
        json!({
            "iss": "https://idp.test", "sub": "7", "provider_id": "7", "name": "AnnLee",
            "picture": "5", "email": "ann@b.test", "email_verified": true,
            "phone_verified": true, "updated_at": "2023-11-14T22:13:20Z",
        })
    );
}

#[test]
fn profiles_without_a_subject_are_rejected() {
    for sub in [
        json!(""),
        Value::Null,
        json!({}),
        json!("a\u{0}b"),
        json!("x".repeat(2000)),
    ] {
        let raw = json!({ "sub": sub, "email": "ann@b.test" });
        assert!(Profile::from_claims(raw.as_object().expect("an object")).is_err());
        assert!(Profile::read(token_mapping("google"), &raw, "").is_err());
    }
    for response in [json!(null), json!([]), json!("text"), json!({ "id": [] })] {
        assert!(Profile::read(api_mapping("github"), &response, "").is_err());
    }
}

#[test]
fn an_invalid_address_is_ignored() {
    for email in ["", "ann", "a b@c", "a@b\r\nBcc: x@y", &"a@b".repeat(100)] {
        let raw = json!({ "sub": "1", "email": email, "email_verified": true });
        let profile = Profile::from_claims(raw.as_object().expect("an object")).expect("a person");
        assert!(profile.emails.is_empty(), "{email}");
        assert_eq!(profile.identity_data().get("email"), None);
    }
}

proptest::proptest! {
    /// No response causes a panic or a value that cannot be stored.
    #[test]
    fn any_response_can_be_read(text in ".*", flag: bool, number: i64) {
        let responses = [
            json!({ "id": text, "sub": text, "email": text, "name": text, "updated_at": number }),
            json!({ "id": number, "emails": [{ "email": text, "verified": flag, "primary": flag }] }),
            json!({ "data": [{ "id": text, "email": text }], "images": [{ "width": number }] }),
            json!(text),
        ];
        for response in &responses {
            for name in ["github", "gitlab", "discord", "spotify", "twitch", "zoom", "linkedin"] {
                if let Ok(profile) = Profile::read(api_mapping(name), response, "https://idp.test") {
                    let data = Value::Object(profile.identity_data()).to_string();
                    proptest::prop_assert!(!data.contains("\\u0000"));
                    proptest::prop_assert!(!profile.subject.is_empty());
                }
            }
        }
    }
}
