//! `plinth serve auth`: GoTrue's environment, any database, and nothing else needed.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    AuthServer as Auth, Ended, ExternalPostgres, auth_variables as variables, rows, run_to_end,
    serve_auth, skip, value,
};

const LIMIT: Duration = Duration::from_secs(20);

fn failed(variables: &[(&str, &str)]) -> Ended {
    run_to_end(&mut serve_auth(variables), None, LIMIT)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn people_sign_up_in_and_on_with_nothing_but_the_environment() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let auth = Auth::start(&variables(
        &url,
        &[
            ("GOTRUE_MAILER_AUTOCONFIRM", "true"),
            ("GOTRUE_JWT_EXP", "600"),
            ("GOTRUE_JWT_EXPP", "1"),
        ],
    ));
    assert!(auth.output().contains("did you mean GOTRUE_JWT_EXP?"));

    let body = json!({ "email": "Ann@Mail.test", "password": "correct horse" });
    let signed_up = auth.post("/signup", &body);
    assert_eq!(signed_up["expires_in"], 600);
    assert_eq!(signed_up["user"]["email"], "ann@mail.test");

    let signed_in = auth.post("/token?grant_type=password", &body);
    let refresh = json!({ "refresh_token": text(&signed_in, "refresh_token") });
    let refreshed = auth.post("/token?grant_type=refresh_token", &refresh);

    let token = text(&refreshed, "access_token");
    let user = auth.http.clone().token(token).get("/user");
    assert_eq!(
        user.expect_status(200).json()["id"],
        signed_up["user"]["id"]
    );
    let failed = auth.http.get("/user").expect_status(401);
    assert_eq!(failed.json()["error_code"], "no_authorization");
    let id = failed.header("x-request-id").expect("a request id");
    assert!(auth.output().contains(id), "the log names the request");

    assert_eq!(auth.stop(), Some(0));
}

#[test]
fn a_second_start_finds_its_own_schema() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let more = [("GOTRUE_MAILER_AUTOCONFIRM", "true")];
    let body = json!({ "email": "ann@mail.test", "password": "correct horse" });

    let first = Auth::start(&variables(&url, &more));
    assert!(first.output().contains("installed the schema auth"));
    first.post("/signup", &body);
    assert_eq!(first.stop(), Some(0));

    let second = Auth::start(&variables(&url, &more));
    assert!(!second.output().contains("installed"));
    second.post("/token?grant_type=password", &body);
}

/// A role that can log in, as its own user of the database.
fn url_as(url: &str, role: &str, password: &str) -> String {
    let (_, host) = url.split_once('@').expect("user and password");
    format!("postgresql://{role}:{password}@{host}")
}

#[test]
fn a_current_schema_is_served_without_privileges_beyond_its_tables() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    let more = [("GOTRUE_MAILER_AUTOCONFIRM", "true")];
    let body = json!({ "email": "ann@mail.test", "password": "correct horse" });
    assert_eq!(Auth::start(&variables(&url, &more)).stop(), Some(0));
    rows(
        &url,
        "alter role supabase_auth_admin login password 'owner'; \
         create role app_auth login password 'member' in role supabase_auth_admin; \
         create role stranger login password 'none'",
    );
    let owner = url_as(&url, "supabase_auth_admin", "owner");

    let as_owner = Auth::start(&variables(&owner, &more));
    as_owner.post("/signup", &body);
    assert!(!as_owner.output().contains("migration(s)"));
    assert_eq!(as_owner.stop(), Some(0));

    let member = url_as(&url, "app_auth", "member");
    let as_member = Auth::start(&variables(&member, &more));
    as_member.post("/token?grant_type=password", &body);
    assert_eq!(as_member.stop(), Some(0));

    // Rights to its own tables are all that it needs.
    rows(&url, "revoke all on schema plinth from supabase_auth_admin");
    let without_ledger = Auth::start(&variables(&owner, &more));
    without_ledger.post("/token?grant_type=password", &body);
    assert_eq!(without_ledger.stop(), Some(0));

    let stranger = url_as(&url, "stranger", "none");
    let ended = failed(&variables(&stranger, &more)).expect_code(1);
    ended.says(&["stranger", "grant supabase_auth_admin to stranger"]);

    // Rights to the tables of sign-ins alone are not enough.
    rows(
        &url,
        "alter role stranger bypassrls; \
         grant usage on schema auth to stranger; \
         grant all on all tables in schema auth to stranger; \
         revoke update on auth.mfa_factors from stranger; \
         revoke update, delete on auth.audit_log_entries from stranger",
    );
    let ended = failed(&variables(&stranger, &more)).expect_code(1);
    ended.says(&[
        "may not read and write",
        "mfa_factors, refresh_tokens_id_seq",
    ]);
    rows(
        &url,
        "grant update on auth.mfa_factors to stranger; \
         grant usage on auth.refresh_tokens_id_seq to stranger",
    );
    let as_stranger = Auth::start(&variables(&stranger, &more));
    as_stranger.post("/token?grant_type=password", &body);
    assert_eq!(as_stranger.stop(), Some(0));
}

#[test]
fn an_older_schema_asks_for_a_superuser() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    assert_eq!(Auth::start(&variables(&url, &[])).stop(), Some(0));
    rows(
        &url,
        "alter role supabase_auth_admin login password 'owner'; \
         delete from plinth.migrations where service = 'auth' and version > 17",
    );

    let owner = url_as(&url, "supabase_auth_admin", "owner");
    let ended = failed(&variables(&owner, &[])).expect_code(1);

    ended.says(&["older than this plinth", "superuser"]);

    // Before it was allowed to read the list, it is unknown; what needs no DDL is done.
    rows(
        &url,
        "revoke all on plinth.migrations from supabase_auth_admin; \
         insert into auth.users (id, email) values (gen_random_uuid(), 'ann@mail.test'); \
         insert into auth.mfa_factors \
             (id, user_id, factor_type, status, created_at, updated_at) \
         select gen_random_uuid(), id, 'phone', 'verified', now(), now() from auth.users",
    );
    let auth = Auth::start(&variables(&owner, &[]));
    assert!(auth.output().contains("some may be pending"));
    assert_eq!(auth.stop(), Some(0));
    let left = "select count(*)::text from auth.mfa_factors where secret is null";
    assert_eq!(value(&url, left), "0", "GoTrue can read every row");
}

#[test]
fn a_newer_schema_is_rejected() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    assert_eq!(Auth::start(&variables(&url, &[])).stop(), Some(0));
    rows(
        &url,
        "insert into plinth.migrations (service, version, name) values ('auth', 9999, 'later')",
    );

    let ended = failed(&variables(&url, &[])).expect_code(1);

    ended.says(&["newer plinth"]);
}

#[test]
fn the_schema_of_another_program_stays_as_it_is() {
    let Some(external) = ExternalPostgres::start() else {
        return skip("PostgreSQL 15 is not installed");
    };
    let url = external.url("app");
    Auth::start(&variables(&url, &[])).stop();
    // Without our ledger it is as if GoTrue had made it.
    rows(
        &url,
        "drop schema plinth cascade; \
         insert into auth.oauth_clients \
             (id, registration_type, redirect_uris, grant_types, client_type, \
              token_endpoint_auth_method) \
         values (gen_random_uuid(), 'dynamic', 'https://site.test', 'authorization_code', \
             'public', 'none')",
    );
    let more = [("GOTRUE_MAILER_AUTOCONFIRM", "true")];

    let auth = Auth::start(&variables(&url, &more));

    assert!(
        auth.output()
            .contains("made by another program and stays as it is")
    );
    let body = json!({ "email": "ann@mail.test", "password": "correct horse" });
    auth.post("/signup", &body);
    assert_eq!(auth.stop(), Some(0));
    let left = "select count(*)::text from auth.oauth_clients where client_secret_hash is null";
    assert_eq!(value(&url, left), "0", "GoTrue can read every row");
    let ledgers = rows(&url, "select to_regnamespace('plinth')::text as name");
    assert!(!format!("{ledgers:?}").contains("plinth"), "{ledgers:?}");

    rows(&url, "alter table auth.users drop column is_anonymous");
    let ended = failed(&variables(&url, &[])).expect_code(1);
    ended.says(&["users.is_anonymous", "the newest GoTrue"]);
}

#[test]
fn every_mistake_is_reported_at_once() {
    let ended = failed(&[("GOTRUE_JWT_EXP", "soon"), ("PORT", "x")]).expect_code(2);

    ended.says(&[
        "GOTRUE_SITE_URL",
        "API_EXTERNAL_URL",
        "DATABASE_URL",
        "GOTRUE_JWT_SECRET",
        "GOTRUE_JWT_EXP",
        "PORT",
    ]);
}
