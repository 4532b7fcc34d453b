//! All built-in providers, by name (auth contract §6.1).

use super::{
    quirks,
    spec::{
        Api, ClientAuth::*, Custom, Emails, Endpoint, Endpoints, Extra, IdTokenSpec, Issuer,
        Issuers, Mapping, ProfileSource, Quirk, Spec, TextSource::*, Verified,
    },
};

/// The row of this name.
pub(in crate::oauth) fn find(name: &str) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.name == name)
}

/// The row whose ID tokens this issuer signs.
pub(in crate::oauth) fn find_by_issuer(issuer: &str) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| match &spec.id_token {
        Some(rules) => rules.issuers.includes(issuer),
        None => false,
    })
}

/// Defaults of most rows.
const DEFAULT: Spec = Spec {
    name: "",
    endpoints: Endpoints::Discovered(""),
    client_auth: Either,
    scopes: &[],
    takes_scopes: true,
    uses_pkce: false,
    profile_source: ProfileSource::IdToken,
    id_token: None,
    quirk: Quirk::None,
};

const DEFAULT_API: Api = Api {
    base: "",
    self_hosted_path: "",
    path: "",
    emails_path: None,
    extra: Extra::Nothing,
    mapping: DEFAULT_MAPPING,
};

const DEFAULT_MAPPING: Mapping = Mapping {
    issuer: Issuer::Base,
    subject: At("/id"),
    claims: &[],
    emails: Emails::One("/email", Verified::Always),
    custom: Custom::Nothing,
};

/// For the claims of ID tokens.
const DEFAULT_CLAIMS: Mapping = Mapping {
    issuer: Issuer::Claimed,
    subject: At("/sub"),
    ..DEFAULT_MAPPING
};

/// Both endpoints on one host.
const fn host(base: &'static str, authorize: &'static str, token: &'static str) -> Endpoints {
    hosts(base, authorize, base, token)
}

const fn hosts(
    authorize_base: &'static str,
    authorize: &'static str,
    token_base: &'static str,
    token: &'static str,
) -> Endpoints {
    Endpoints::Fixed {
        authorize: Endpoint {
            base: authorize_base,
            path: authorize,
        },
        token: Endpoint {
            base: token_base,
            path: token,
        },
    }
}

const NAME: &[&str] = &["name", "full_name"];
const PICTURE: &[&str] = &["picture", "avatar_url"];
const NICKNAME: &[&str] = &["nickname", "slug"];
const USER_NAME: &[&str] = &["preferred_username", "user_name"];

static TABLE: &[Spec] = &[
    Spec {
        name: "apple",
        endpoints: Endpoints::Discovered("https://appleid.apple.com"),
        client_auth: Body,
        scopes: &["email", "name"],
        takes_scopes: false,
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://appleid.apple.com", "https://account.apple.com"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                custom: Custom::By(quirks::apple_custom),
                ..DEFAULT_CLAIMS
            }),
        }),
        quirk: Quirk::Apple,
        ..DEFAULT
    },
    Spec {
        name: "azure",
        endpoints: host(
            "https://login.microsoftonline.com/common",
            "/oauth2/v2.0/authorize",
            "/oauth2/v2.0/token",
        ),
        client_auth: Body,
        scopes: &["openid"],
        id_token: Some(IdTokenSpec {
            issuers: Issuers::Azure,
            skips_nonce: false,
            mapping: Some(Mapping {
                claims: &[
                    (&["full_name"], At("/name")),
                    (&["preferred_username"], At("/preferred_username")),
                ],
                emails: Emails::One("/email", Verified::By(quirks::azure_is_verified)),
                custom: Custom::AllBut(&[
                    "aud",
                    "iss",
                    "iat",
                    "nbf",
                    "exp",
                    "c_hash",
                    "at_hash",
                    "aio",
                    "nonce",
                    "rh",
                    "uti",
                    "jti",
                    "ver",
                    "sub",
                    "name",
                    "preferred_username",
                ]),
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "bitbucket",
        endpoints: host(
            "https://bitbucket.org",
            "/site/oauth2/authorize",
            "/site/oauth2/access_token",
        ),
        client_auth: Header,
        scopes: &["account", "email"],
        takes_scopes: false,
        profile_source: ProfileSource::Api(Api {
            base: "https://api.bitbucket.org/2.0",
            self_hosted_path: "/2.0",
            path: "/user",
            emails_path: Some("/user/emails"),
            mapping: Mapping {
                subject: At("/uuid"),
                claims: &[(NAME, At("/display_name")), (PICTURE, At("/avatar/href"))],
                emails: Emails::List {
                    at: "/emails/values",
                    is_verified: "is_confirmed",
                    is_primary: "is_primary",
                },
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "discord",
        endpoints: host(
            "https://discord.com",
            "/api/oauth2/authorize",
            "/api/oauth2/token",
        ),
        scopes: &["email", "identify"],
        profile_source: ProfileSource::Api(Api {
            base: "https://discord.com/api",
            self_hosted_path: "/api",
            path: "/users/@me",
            mapping: Mapping {
                claims: &[
                    (&["name"], By(quirks::discord_name)),
                    (&["full_name"], At("/username")),
                    (PICTURE, By(quirks::discord_picture)),
                ],
                emails: Emails::One("/email", Verified::If("/verified")),
                custom: Custom::Keys(&[("global_name", "/global_name")]),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "facebook",
        endpoints: hosts(
            "https://www.facebook.com",
            "/dialog/oauth",
            "https://graph.facebook.com",
            "/oauth/access_token",
        ),
        client_auth: Body,
        scopes: &["email"],
        profile_source: ProfileSource::Api(Api {
            base: "https://graph.facebook.com",
            path: "/me?fields=email,first_name,last_name,name,picture",
            extra: Extra::SecretProof,
            mapping: Mapping {
                issuer: Issuer::Below("/me?fields=email,first_name,last_name,name,picture"),
                claims: &[
                    (NAME, Joined(&["/first_name", "/last_name"])),
                    (NICKNAME, At("/name")),
                    (PICTURE, At("/picture/data/url")),
                ],
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        // Limited Login; its nonces cannot be compared.
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://www.facebook.com"]),
            skips_nonce: true,
            mapping: Some(Mapping {
                claims: &[(&["name"], At("/name")), (&["picture"], At("/picture"))],
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "figma",
        endpoints: hosts(
            "https://www.figma.com",
            "/oauth",
            "https://api.figma.com",
            "/v1/oauth/token",
        ),
        scopes: &["current_user:read"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.figma.com",
            path: "/v1/me",
            mapping: Mapping {
                claims: &[(NAME, At("/handle")), (&["avatar_url"], At("/img_url"))],
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "fly",
        endpoints: host("https://api.fly.io", "/oauth/authorize", "/oauth/token"),
        scopes: &["read"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.fly.io",
            path: "/oauth/token/info",
            mapping: Mapping {
                subject: At("/user_id"),
                claims: &[(&["full_name"], At("/user_name"))],
                custom: Custom::Keys(&[
                    ("resource_owner_id", "/resource_owner_id"),
                    ("organizations", "/organizations"),
                    ("application", "/application"),
                    ("scope", "/scope"),
                    ("created_at", "/created_at"),
                ]),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "github",
        endpoints: host(
            "https://github.com",
            "/login/oauth/authorize",
            "/login/oauth/access_token",
        ),
        client_auth: Body,
        scopes: &["user:email"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.github.com",
            self_hosted_path: "/api/v3",
            path: "/user",
            emails_path: Some("/user/emails"),
            mapping: Mapping {
                claims: &[
                    (NAME, At("/name")),
                    (USER_NAME, At("/login")),
                    (&["avatar_url"], At("/avatar_url")),
                ],
                emails: Emails::List {
                    at: "/emails",
                    is_verified: "verified",
                    is_primary: "primary",
                },
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "gitlab",
        endpoints: host("https://gitlab.com", "/oauth/authorize", "/oauth/token"),
        client_auth: Body,
        scopes: &["read_user"],
        profile_source: ProfileSource::Api(Api {
            base: "https://gitlab.com",
            path: "/api/v4/user",
            emails_path: Some("/api/v4/user/emails"),
            mapping: Mapping {
                claims: &[(NAME, At("/name")), (PICTURE, At("/avatar_url"))],
                emails: Emails::By(quirks::gitlab_emails),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "google",
        endpoints: Endpoints::Discovered("https://accounts.google.com"),
        client_auth: Body,
        scopes: &["email", "profile"],
        profile_source: ProfileSource::IdTokenOrApi(Api {
            base: "https://www.googleapis.com",
            path: "/userinfo/v2/me",
            mapping: Mapping {
                issuer: Issuer::Below("/userinfo/v2/me"),
                claims: &[(NAME, At("/name")), (PICTURE, At("/picture"))],
                emails: Emails::One("/email", Verified::By(quirks::google_is_verified)),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        id_token: Some(IdTokenSpec {
            // Older tokens have the issuer without a scheme.
            issuers: Issuers::OneOf(&["https://accounts.google.com", "accounts.google.com"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                claims: &[(NAME, At("/name")), (PICTURE, At("/picture"))],
                emails: Emails::One("/email", Verified::By(quirks::google_is_verified)),
                custom: Custom::Keys(&[("hd", "/hd")]),
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "kakao",
        endpoints: host(
            "https://kauth.kakao.com",
            "/oauth/authorize",
            "/oauth/token",
        ),
        client_auth: Body,
        scopes: &["account_email", "profile_image", "profile_nickname"],
        profile_source: ProfileSource::Api(Api {
            base: "https://kapi.kakao.com",
            path: "/v2/user/me",
            mapping: Mapping {
                claims: &[
                    (
                        &["name", "full_name", "preferred_username", "user_name"],
                        At("/kakao_account/profile/nickname"),
                    ),
                    (
                        &["avatar_url"],
                        At("/kakao_account/profile/profile_image_url"),
                    ),
                ],
                emails: Emails::One(
                    "/kakao_account/email",
                    Verified::By(quirks::kakao_is_verified),
                ),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://kauth.kakao.com"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                claims: &[
                    (&["name", "preferred_username"], At("/nickname")),
                    (&["picture"], At("/picture")),
                ],
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "keycloak",
        endpoints: Endpoints::BelowUrl {
            authorize: "/protocol/openid-connect/auth",
            token: "/protocol/openid-connect/token",
        },
        scopes: &["profile", "email"],
        profile_source: ProfileSource::Api(Api {
            path: "/protocol/openid-connect/userinfo",
            mapping: Mapping {
                issuer: Issuer::Base,
                claims: &[(NAME, At("/name"))],
                emails: Emails::One("/email", Verified::If("/email_verified")),
                custom: Custom::AllBut(&["name", "sub", "email", "email_verified"]),
                ..DEFAULT_CLAIMS
            },
            ..DEFAULT_API
        }),
        id_token: Some(IdTokenSpec {
            issuers: Issuers::Url,
            skips_nonce: false,
            mapping: None,
        }),
        ..DEFAULT
    },
    Spec {
        name: "linkedin",
        endpoints: host(
            "https://api.linkedin.com",
            "/oauth/v2/authorization",
            "/oauth/v2/accessToken",
        ),
        client_auth: Body,
        scopes: &["r_emailaddress", "r_liteprofile"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.linkedin.com",
            path: "/v2/me?projection=(id,firstName,lastName,\
                   profilePicture(displayImage~:playableStreams))",
            emails_path: Some("/v2/emailAddress?q=members&projection=(elements*(handle~))"),
            mapping: Mapping {
                claims: &[
                    (NAME, By(quirks::linkedin_name)),
                    (
                        PICTURE,
                        At("/profilePicture/displayImage~0/elements/0/identifiers/0/identifier"),
                    ),
                ],
                emails: Emails::One("/emails/elements/0/handle~0/emailAddress", Verified::Always),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "linkedin_oidc",
        endpoints: host(
            "https://api.linkedin.com",
            "/oauth/v2/authorization",
            "/oauth/v2/accessToken",
        ),
        client_auth: Body,
        scopes: &["openid", "email", "profile"],
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://www.linkedin.com/oauth"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                claims: &[
                    (&["name"], Joined(&["/given_name", "/family_name"])),
                    (&["given_name"], At("/given_name")),
                    (&["family_name"], At("/family_name")),
                    (&["locale"], At("/locale")),
                    (&["picture"], At("/picture")),
                ],
                emails: Emails::One("/email", Verified::If("/email_verified")),
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "notion",
        endpoints: host(
            "https://api.notion.com",
            "/v1/oauth/authorize",
            "/v1/oauth/token",
        ),
        client_auth: Header,
        takes_scopes: false,
        profile_source: ProfileSource::Api(Api {
            base: "https://api.notion.com",
            path: "/v1/users/me",
            extra: Extra::Header("notion-version", "2021-08-16"),
            mapping: Mapping {
                subject: At("/bot/owner/user/id"),
                claims: &[
                    (NAME, At("/bot/owner/user/name")),
                    (PICTURE, At("/bot/owner/user/avatar_url")),
                ],
                emails: Emails::One("/bot/owner/user/person/email", Verified::Always),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "slack",
        endpoints: host("https://slack.com", "/oauth/authorize", "/api/oauth.access"),
        scopes: &["profile", "email", "openid"],
        profile_source: ProfileSource::Api(Api {
            base: "https://slack.com/api",
            self_hosted_path: "/api",
            path: "/openid.connect.userInfo",
            mapping: SLACK,
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "slack_oidc",
        endpoints: host(
            "https://slack.com",
            "/openid/connect/authorize",
            "/api/openid.connect.token",
        ),
        scopes: &["profile", "email", "openid"],
        profile_source: ProfileSource::Api(Api {
            base: "https://slack.com/api",
            self_hosted_path: "/api",
            path: "/openid.connect.userInfo",
            mapping: Mapping {
                emails: Emails::One("/email", Verified::If("/email_verified")),
                ..SLACK
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "snapchat",
        endpoints: host(
            "https://accounts.snapchat.com",
            "/accounts/oauth2/auth",
            "/accounts/oauth2/token",
        ),
        scopes: &[
            "https://auth.snapchat.com/oauth2/api/user.external_id",
            "https://auth.snapchat.com/oauth2/api/user.display_name",
            "https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
        ],
        profile_source: ProfileSource::Api(Api {
            base: "https://kit.snapchat.com",
            path: "/v1/me?query=%7Bme%20%7B%20externalId%20displayName%20\
                   bitmoji%20%7B%20avatar%20id%20%7D%20email%20%7D%20%7D",
            mapping: Mapping {
                issuer: Issuer::Fixed("https://accounts.snapchat.com/accounts/oauth2/token"),
                subject: At("/data/me/externalId"),
                claims: &[
                    (&["name", "full_name", "slug"], At("/data/me/displayName")),
                    (PICTURE, At("/data/me/bitmoji/avatar")),
                ],
                emails: Emails::One("/data/me/email", Verified::Always),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://accounts.snapchat.com/accounts/oauth2/token"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                claims: &[(NAME, At("/name")), (PICTURE, At("/picture"))],
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "spotify",
        endpoints: host("https://accounts.spotify.com", "/authorize", "/api/token"),
        client_auth: Header,
        scopes: &["user-read-email"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.spotify.com/v1",
            path: "/me",
            mapping: Mapping {
                claims: &[
                    (NAME, At("/display_name")),
                    (PICTURE, By(quirks::spotify_picture)),
                ],
                emails: Emails::One("/email", Verified::Never),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "twitch",
        endpoints: host("https://id.twitch.tv", "/oauth2/authorize", "/oauth2/token"),
        client_auth: Body,
        scopes: &["user:read:email"],
        profile_source: ProfileSource::Api(Api {
            base: "https://api.twitch.tv",
            path: "/helix/users",
            extra: Extra::ClientId("client-id"),
            mapping: Mapping {
                subject: At("/data/0/id"),
                claims: &[
                    (NAME, At("/data/0/login")),
                    (NICKNAME, At("/data/0/display_name")),
                    (PICTURE, At("/data/0/profile_image_url")),
                ],
                emails: Emails::One("/data/0/email", Verified::Always),
                custom: Custom::Keys(&[
                    ("broadcaster_type", "/data/0/broadcaster_type"),
                    ("description", "/data/0/description"),
                    ("type", "/data/0/type"),
                    ("offline_image_url", "/data/0/offline_image_url"),
                    ("view_count", "/data/0/view_count"),
                ]),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "twitter",
        endpoints: host(
            "https://api.twitter.com",
            "/oauth/authenticate",
            "/oauth/access_token",
        ),
        takes_scopes: false,
        profile_source: ProfileSource::Api(Api {
            base: "https://api.twitter.com",
            path: "/1.1/account/verify_credentials.json",
            mapping: Mapping {
                issuer: Issuer::Below("/1.1/account/verify_credentials.json"),
                subject: At("/id_str"),
                claims: &[
                    (NAME, At("/name")),
                    (USER_NAME, At("/screen_name")),
                    (PICTURE, At("/profile_image_url_https")),
                ],
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        quirk: Quirk::Twitter,
        ..DEFAULT
    },
    Spec {
        name: "vercel_marketplace",
        endpoints: host(
            "https://api.vercel.com",
            "/oauth/v2/authorization",
            "/oauth/v2/accessToken",
        ),
        client_auth: Body,
        id_token: Some(IdTokenSpec {
            issuers: Issuers::OneOf(&["https://marketplace.vercel.com"]),
            skips_nonce: false,
            mapping: Some(Mapping {
                subject: By(quirks::vercel_subject),
                claims: &[
                    (&["name"], At("/user_name")),
                    (&["picture"], At("/user_avatar_url")),
                ],
                emails: Emails::One("/user_email", Verified::Always),
                ..DEFAULT_CLAIMS
            }),
        }),
        ..DEFAULT
    },
    Spec {
        name: "workos",
        endpoints: host("https://api.workos.com", "/sso/authorize", "/sso/token"),
        client_auth: Body,
        takes_scopes: false,
        profile_source: ProfileSource::TokenResponse {
            at: "/profile",
            base: "https://api.workos.com",
            mapping: Mapping {
                claims: &[(NAME, Joined(&["/first_name", "/last_name"]))],
                custom: Custom::Keys(&[
                    ("connection_id", "/connection_id"),
                    ("organization_id", "/organization_id"),
                ]),
                ..DEFAULT_MAPPING
            },
        },
        ..DEFAULT
    },
    Spec {
        name: "x",
        endpoints: hosts(
            "https://x.com",
            "/i/oauth2/authorize",
            "https://api.x.com",
            "/2/oauth2/token",
        ),
        client_auth: Header,
        scopes: &["users.email", "tweet.read", "users.read", "offline.access"],
        uses_pkce: true,
        profile_source: ProfileSource::Api(Api {
            base: "https://api.x.com",
            path: "/2/users/me?user.fields=id,name,username,confirmed_email,\
                   profile_image_url,url,created_at",
            mapping: Mapping {
                subject: At("/data/id"),
                claims: &[
                    (NAME, At("/data/name")),
                    (USER_NAME, At("/data/username")),
                    (PICTURE, At("/data/profile_image_url")),
                    (&["profile"], By(quirks::x_profile)),
                    (&["website"], At("/data/url")),
                ],
                emails: Emails::One("/data/confirmed_email", Verified::Always),
                custom: Custom::Keys(&[("created_at", "/data/created_at")]),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
    Spec {
        name: "zoom",
        endpoints: host("https://zoom.us", "/oauth/authorize", "/oauth/token"),
        client_auth: Header,
        takes_scopes: false,
        profile_source: ProfileSource::Api(Api {
            base: "https://api.zoom.us/v2",
            self_hosted_path: "/v2",
            path: "/users/me",
            mapping: Mapping {
                claims: &[
                    (NAME, Joined(&["/first_name", "/last_name"])),
                    (PICTURE, At("/pic_url")),
                ],
                emails: Emails::One("/email", Verified::By(quirks::zoom_is_verified)),
                ..DEFAULT_MAPPING
            },
            ..DEFAULT_API
        }),
        ..DEFAULT
    },
];

const SLACK: Mapping = Mapping {
    subject: At("/https:~1~1slack.com~1user_id"),
    claims: &[(NAME, At("/name")), (PICTURE, At("/picture"))],
    custom: Custom::Keys(&[("https://slack.com/team_id", "/https:~1~1slack.com~1team_id")]),
    ..DEFAULT_MAPPING
};
