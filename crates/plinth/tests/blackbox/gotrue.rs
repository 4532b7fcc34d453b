//! Plinth and GoTrue on one database: each takes it over from the other, and what people began with
//! one they end with the other. `GOTRUE_BIN` names GoTrue's program; without it, these are skipped.

mod flows;

use std::path::PathBuf;

use serde_json::json;

use crate::support::{
    AuthServer, ExternalPostgres, auth_variables, does_not_apply, gotrue_program, rows, skip, value,
};
use flows::Pair;

const UNLIMITED: &str = "100000";
const KEEP_MESSAGE: &str = "pg-functions://postgres/public/keep_message";

/// What both programs understand. Messages are kept by a hook.
const COMMON: &[(&str, &str)] = &[
    ("GOTRUE_DB_DRIVER", "postgres"),
    ("DB_NAMESPACE", "auth"),
    ("API_HOST", "127.0.0.1"),
    ("GOTRUE_JWT_AUD", "authenticated"),
    ("GOTRUE_JWT_DEFAULT_GROUP_NAME", "authenticated"),
    ("GOTRUE_URI_ALLOW_LIST", "https://site.test/**"),
    ("GOTRUE_SMTP_MAX_FREQUENCY", "1us"),
    ("GOTRUE_SMS_MAX_FREQUENCY", "1us"),
    ("GOTRUE_SMS_OTP_EXP", "600"),
    ("GOTRUE_EXTERNAL_PHONE_ENABLED", "true"),
    ("GOTRUE_MFA_PHONE_ENROLL_ENABLED", "true"),
    ("GOTRUE_MFA_PHONE_VERIFY_ENABLED", "true"),
    ("GOTRUE_MFA_WEB_AUTHN_ENROLL_ENABLED", "true"),
    ("GOTRUE_MFA_WEB_AUTHN_VERIFY_ENABLED", "true"),
    ("GOTRUE_WEBAUTHN_RP_ID", "site.test"),
    ("GOTRUE_WEBAUTHN_RP_DISPLAY_NAME", "Site"),
    ("GOTRUE_WEBAUTHN_RP_ORIGINS", "https://site.test"),
    ("GOTRUE_HOOK_SEND_EMAIL_ENABLED", "true"),
    ("GOTRUE_HOOK_SEND_EMAIL_URI", KEEP_MESSAGE),
    ("GOTRUE_HOOK_SEND_SMS_ENABLED", "true"),
    ("GOTRUE_HOOK_SEND_SMS_URI", KEEP_MESSAGE),
    ("GOTRUE_RATE_LIMIT_EMAIL_SENT", UNLIMITED),
    ("GOTRUE_RATE_LIMIT_SMS_SENT", UNLIMITED),
    ("GOTRUE_RATE_LIMIT_OTP", UNLIMITED),
    ("GOTRUE_RATE_LIMIT_TOKEN_REFRESH", UNLIMITED),
    ("GOTRUE_RATE_LIMIT_VERIFY", UNLIMITED),
    ("GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY", UNLIMITED),
];

const MESSAGES: &str = "
    create table public.messages (id bigint generated always as identity, event jsonb);
    create function public.keep_message(event jsonb) returns jsonb
        language plpgsql security definer as $$
    begin
        insert into public.messages (event) values ($1);
        return '{}';
    end $$;
    grant execute on function public.keep_message to supabase_auth_admin";

/// Everything that a migration could change.
const SHAPE: &str = "
    select md5(string_agg(line, e'\\n' order by line)) from (
        select concat_ws(' ', table_name, ordinal_position, column_name, data_type, is_nullable,
            column_default) as line
        from information_schema.columns where table_schema = 'auth'
        union all
        select indexdef from pg_indexes where schemaname = 'auth'
        union all
        select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
        from pg_constraint where connamespace = 'auth'::regnamespace
        union all
        select version from auth.schema_migrations) as lines";

/// A database with the owner of the schema as a login, and both programs.
struct Stage {
    external: ExternalPostgres,
    gotrue: PathBuf,
}

impl Stage {
    fn prepare() -> Option<Self> {
        let Some(gotrue) = gotrue_program() else {
            does_not_apply("GOTRUE_BIN names no program");
            return None;
        };
        let Some(external) = ExternalPostgres::start() else {
            skip("PostgreSQL 15 is not installed");
            return None;
        };
        Some(Self { external, gotrue })
    }

    fn admin_url(&self) -> String {
        self.external.url("app")
    }

    fn owner_url(&self) -> String {
        let url = self.admin_url();
        let (_, host) = url.split_once('@').expect("user and password");
        format!("postgresql://supabase_auth_admin:owner@{host}")
    }

    /// The schema as Plinth makes it.
    fn install(&self) {
        let url = self.admin_url();
        let installed = AuthServer::start(&auth_variables(&url, COMMON));
        assert_eq!(installed.stop(), Some(0));
        rows(
            &url,
            "alter role supabase_auth_admin login password 'owner'",
        );
        rows(&url, MESSAGES);
    }

    fn start_plinth(&self) -> AuthServer {
        self.start_plinth_with(&[])
    }

    fn start_plinth_with(&self, more: &[(&str, &str)]) -> AuthServer {
        let variables = [COMMON, more].concat();
        AuthServer::start(&auth_variables(&self.owner_url(), &variables))
    }

    fn start_gotrue(&self) -> AuthServer {
        self.start_gotrue_with(&[])
    }

    fn start_gotrue_with(&self, more: &[(&str, &str)]) -> AuthServer {
        let url = format!("{}?search_path=auth&sslmode=disable", self.owner_url());
        let variables = [COMMON, more].concat();
        AuthServer::start_gotrue(&self.gotrue, &auth_variables(&url, &variables))
    }

    /// Every flow, begun on either side.
    fn check_flows(&self, plinth: &AuthServer, gotrue: &AuthServer) {
        let url = self.admin_url();
        for (name, begin, end) in [("plinth", plinth, gotrue), ("gotrue", gotrue, plinth)] {
            Pair::new(name, begin, end, &url).check_all();
        }
    }
}

#[test]
fn gotrue_takes_over_a_database_of_plinth_and_gives_it_back() {
    let Some(stage) = Stage::prepare() else {
        return;
    };
    let url = stage.admin_url();
    stage.install();
    let shape = value(&url, SHAPE);

    let gotrue = stage.start_gotrue();
    assert_eq!(value(&url, SHAPE), shape, "GoTrue found nothing to migrate");
    let plinth = stage.start_plinth();
    stage.check_flows(&plinth, &gotrue);

    let body = json!({ "email": "password-gotrue@mail.test", "password": "correct horse" });
    gotrue.stop();
    assert_eq!(plinth.stop(), Some(0));
    let plinth = stage.start_plinth();
    plinth.post("/token?grant_type=password", &body);
    assert_eq!(value(&url, SHAPE), shape);
}

#[test]
fn plinth_takes_over_a_database_of_gotrue_and_gives_it_back() {
    let Some(stage) = Stage::prepare() else {
        return;
    };
    let url = stage.admin_url();
    rows(
        &url,
        "create role anon; create role authenticated; create role service_role; \
         create role supabase_auth_admin noinherit createrole login password 'owner'; \
         create schema auth authorization supabase_auth_admin; \
         grant create on database app to supabase_auth_admin",
    );
    let gotrue = stage.start_gotrue();
    rows(&url, MESSAGES);
    let shape = value(&url, SHAPE);

    let plinth = stage.start_plinth();
    assert!(plinth.output().contains("made by another program"));
    stage.check_flows(&plinth, &gotrue);

    let body = json!({ "email": "password-plinth@mail.test", "password": "correct horse" });
    assert_eq!(plinth.stop(), Some(0));
    gotrue.stop();
    let gotrue = stage.start_gotrue();
    gotrue.post("/token?grant_type=password", &body);
    assert_eq!(value(&url, SHAPE), shape);
}

#[test]
fn counted_refresh_tokens_are_exchanged_by_both() {
    let Some(stage) = Stage::prepare() else {
        return;
    };
    stage.install();
    let counted = [
        ("GOTRUE_SECURITY_REFRESH_TOKEN_ALGORITHM_VERSION", "2"),
        ("GOTRUE_SECURITY_REFRESH_TOKEN_ROTATION_ENABLED", "true"),
    ];
    let plinth = stage.start_plinth_with(&counted);
    let gotrue = stage.start_gotrue_with(&counted);
    let url = stage.admin_url();

    for (name, begin, end) in [("plinth", &plinth, &gotrue), ("gotrue", &gotrue, &plinth)] {
        Pair::new(name, begin, end, &url).sign_in_and_refresh();
    }

    let chained = "select count(*)::text from auth.refresh_tokens";
    assert_eq!(value(&url, chained), "0");
}
