//! The schema `auth` (auth contract §11): shapes that dumps and triggers rely on, grants of each
//! role, helper functions of policies.

use plinth_testkit::TestDatabase;
use tokio_postgres::{Client, error::SqlState};

const ADA: &str = "11111111-1111-1111-1111-111111111111";
const BOB: &str = "22222222-2222-2222-2222-222222222222";

const INSERT_USERS: &str = r#"
    insert into auth.users (id, email, raw_user_meta_data)
    values
      ('11111111-1111-1111-1111-111111111111', 'ada@example.com', '{"name": "Ada"}'),
      ('22222222-2222-2222-2222-222222222222', 'bob@example.com', '{"name": "Bob"}')"#;

#[tokio::test]
async fn what_the_service_needs_of_another_programs_schema_is_in_its_own() {
    let db = TestDatabase::create().await;

    let columns = texts(
        &db.admin().await,
        "select table_name || '.' || column_name
         from information_schema.columns where table_schema = 'auth'",
    )
    .await;

    for (table, needed) in plinth_auth::schema::REQUIRED_COLUMNS {
        for column in needed.split(' ') {
            let name = format!("{table}.{column}");
            assert!(columns.contains(&name), "{name}");
        }
    }
}

#[tokio::test]
async fn users_have_their_columns_in_the_order_that_dumps_and_triggers_expect() {
    let db = TestDatabase::create().await;

    let columns = texts(
        &db.admin().await,
        "select attname::text || ' ' || format_type(atttypid, atttypmod)
         from pg_attribute
         where attrelid = 'auth.users'::regclass and attnum > 0
         order by attnum",
    )
    .await;

    let expected = [
        "instance_id uuid",
        "id uuid",
        "aud character varying(255)",
        "role character varying(255)",
        "email character varying(255)",
        "encrypted_password character varying(255)",
        "email_confirmed_at timestamp with time zone",
        "invited_at timestamp with time zone",
        "confirmation_token character varying(255)",
        "confirmation_sent_at timestamp with time zone",
        "recovery_token character varying(255)",
        "recovery_sent_at timestamp with time zone",
        "email_change_token_new character varying(255)",
        "email_change character varying(255)",
        "email_change_sent_at timestamp with time zone",
        "last_sign_in_at timestamp with time zone",
        "raw_app_meta_data jsonb",
        "raw_user_meta_data jsonb",
        "is_super_admin boolean",
        "created_at timestamp with time zone",
        "updated_at timestamp with time zone",
        "phone text",
        "phone_confirmed_at timestamp with time zone",
        "phone_change text",
        "phone_change_token character varying(255)",
        "phone_change_sent_at timestamp with time zone",
        "confirmed_at timestamp with time zone",
        "email_change_token_current character varying(255)",
        "email_change_confirm_status smallint",
        "banned_until timestamp with time zone",
        "reauthentication_token character varying(255)",
        "reauthentication_sent_at timestamp with time zone",
        "is_sso_user boolean",
        "deleted_at timestamp with time zone",
        "is_anonymous boolean",
    ];
    assert_eq!(columns, expected);
}

#[tokio::test]
async fn every_table_belongs_to_the_auth_admin_and_is_closed_by_row_level_security() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;

    let tables = texts(
        &admin,
        "select format('%s %s %s', relname, relowner::regrole, relrowsecurity)
         from pg_class
         where relnamespace = 'auth'::regnamespace and relkind = 'r'
         order by relname",
    )
    .await;
    let policies = texts(
        &admin,
        "select policyname::text from pg_policies where schemaname = 'auth'",
    )
    .await;

    let expected = [
        "audit_log_entries",
        "custom_oauth_providers",
        "flow_state",
        "identities",
        "instances",
        "mfa_amr_claims",
        "mfa_challenges",
        "mfa_factors",
        "oauth_authorizations",
        "oauth_client_states",
        "oauth_clients",
        "oauth_consents",
        "one_time_tokens",
        "refresh_tokens",
        "saml_providers",
        "saml_relay_states",
        "schema_migrations",
        "sessions",
        "sso_domains",
        "sso_providers",
        "users",
        "webauthn_challenges",
        "webauthn_credentials",
    ]
    .map(|table| format!("{table} supabase_auth_admin t"));
    assert_eq!(tables, expected);
    assert!(policies.is_empty(), "{policies:?}");
}

/// GoTrue applies each migration whose version is missing.
#[tokio::test]
async fn gotrue_finds_all_its_migrations_applied() {
    let db = TestDatabase::create().await;

    let versions = texts(
        &db.admin().await,
        "select version::text from auth.schema_migrations order by version",
    )
    .await;

    assert_eq!(versions.len(), 70);
    assert_eq!(versions.first().map(String::as_str), Some("00"));
    assert_eq!(versions.last().map(String::as_str), Some("20260625000000"));
}

#[tokio::test]
async fn rows_of_before_become_readable_for_gotrue() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    admin
        .batch_execute(&format!(
            "{INSERT_USERS};
             insert into auth.mfa_factors
               (id, user_id, factor_type, status, created_at, updated_at, phone)
               values (md5('f')::uuid, '{ADA}', 'phone', 'verified', now(), now(), '1555');
             insert into auth.mfa_challenges (id, factor_id, created_at, ip_address)
               values (md5('c')::uuid, md5('f')::uuid, now(), '127.0.0.1');
             insert into auth.flow_state (id, provider_type, authentication_method)
               values (md5('s')::uuid, 'recovery', 'recovery');
             delete from auth.schema_migrations where version < '20260625000000'"
        ))
        .await
        .expect("rows as they were made before");

    let mut all = plinth_auth::schema::MIGRATIONS.migrations.iter();
    let migration = all.find(|migration| migration.version == 20);
    let sql = migration.expect("it is released").sql;
    let migrated = admin.batch_execute(&format!("begin; {sql}; commit")).await;
    migrated.expect("migrated");

    let filled = "select (select secret = '' from auth.mfa_factors)
        and (select otp_code = '' from auth.mfa_challenges)
        and (select provider_access_token = '' and provider_refresh_token = ''
             from auth.flow_state)
        and (select count(*) = 70 from auth.schema_migrations)";
    assert!(holds(&admin, filled).await);
}

#[tokio::test]
async fn helpers_are_null_outside_a_request() {
    let db = TestDatabase::create().await;
    let anon = db.connect_as("anon").await;
    let all_null = "select num_nulls(auth.uid(), auth.role(), auth.email(), auth.jwt()) = 4";

    let before = holds(&anon, all_null).await;
    // Settings of an earlier transaction remain as empty strings.
    anon.batch_execute(
        r#"begin;
           set local "request.jwt.claims" = '{"role": "anon"}';
           set local "request.jwt.claim" = '{}';
           set local "request.jwt.claim.sub" = '11111111-1111-1111-1111-111111111111';
           commit"#,
    )
    .await
    .expect("settings of a request");
    let left_empty = holds(&anon, "select current_setting('request.jwt.claims') = ''").await;
    let after = holds(&anon, all_null).await;

    assert_eq!((before, left_empty, after), (true, true, true));
}

#[tokio::test]
async fn helpers_read_the_claims_document() {
    let db = TestDatabase::create().await;
    let anon = db.connect_as("anon").await;

    set(
        &anon,
        "request.jwt.claims",
        r#"{"sub": "11111111-1111-1111-1111-111111111111", "role": "r", "email": "e"}"#,
    )
    .await;

    assert_eq!(helpers(&anon).await, [ADA, "r", "e"]);
    assert!(holds(&anon, "select auth.jwt() ->> 'email' = 'e'").await);
}

#[tokio::test]
async fn a_setting_of_its_own_wins_over_the_claims_document() {
    let db = TestDatabase::create().await;
    let anon = db.connect_as("anon").await;

    set(
        &anon,
        "request.jwt.claims",
        r#"{"sub": "none", "role": "r", "email": "e"}"#,
    )
    .await;
    set(&anon, "request.jwt.claim.sub", BOB).await;
    set(&anon, "request.jwt.claim.role", "single role").await;
    set(&anon, "request.jwt.claim.email", "single email").await;
    set(&anon, "request.jwt.claim", r#"{"whole": "document"}"#).await;

    assert_eq!(helpers(&anon).await, [BOB, "single role", "single email"]);
    assert!(holds(&anon, "select auth.jwt() ->> 'whole' = 'document'").await);
}

#[tokio::test]
async fn api_roles_can_read_no_table_of_the_schema() {
    let db = TestDatabase::create().await;
    let tables = "select oid::regclass::text from pg_class
                  where relnamespace = 'auth'::regnamespace and relkind = 'r'";
    let tables = texts(&db.admin().await, tables).await;

    for role in ["anon", "authenticated", "service_role"] {
        let caller = db.connect_as(role).await;
        for table in &tables {
            let read = caller.query(&format!("select from {table}"), &[]).await;

            let code = read.err().and_then(|error| error.code().cloned());
            assert_eq!(
                code,
                Some(SqlState::INSUFFICIENT_PRIVILEGE),
                "{role} reads {table}"
            );
        }
    }
}

#[tokio::test]
async fn users_migrations_put_triggers_and_foreign_keys_on_users() {
    let db = TestDatabase::create().await;
    let postgres = db.connect_as("postgres").await;
    postgres
        .batch_execute(
            "create table public.profiles (
               id uuid primary key references auth.users (id) on delete cascade,
               name text
             );
             create function public.handle_new_user() returns trigger
               language plpgsql security definer set search_path = ''
               as $$
               begin
                 insert into public.profiles values (new.id, new.raw_user_meta_data ->> 'name');
                 return new;
               end
               $$;
             create trigger on_auth_user_created after insert on auth.users
               for each row execute procedure public.handle_new_user()",
        )
        .await
        .expect("the migration that most apps begin with");
    let names = "select name from public.profiles order by name";

    // The service writes as the schema's owner, a seed as postgres.
    let service = db.connect_as("supabase_auth_admin").await;
    service
        .batch_execute(INSERT_USERS)
        .await
        .expect("two users");
    let after_insert = texts(&postgres, names).await;
    postgres
        .batch_execute("delete from auth.users where email = 'ada@example.com'")
        .await
        .expect("postgres may delete users");
    let after_delete = texts(&postgres, names).await;

    assert_eq!(after_insert, ["Ada", "Bob"]);
    assert_eq!(after_delete, ["Bob"]);
}

#[tokio::test]
async fn a_policy_on_uid_shows_callers_their_own_rows() {
    let db = TestDatabase::create().await;
    let postgres = db.connect_as("postgres").await;
    postgres
        .batch_execute(INSERT_USERS)
        .await
        .expect("a seed as postgres");
    postgres
        .batch_execute(
            "create table public.notes (user_id uuid references auth.users (id), body text);
             alter table public.notes enable row level security;
             create policy own on public.notes to authenticated using (auth.uid() = user_id);
             grant select on public.notes to authenticated;
             insert into public.notes select id, email from auth.users",
        )
        .await
        .expect("a table with a policy");

    let caller = db.connect_as("authenticated").await;
    set(
        &caller,
        "request.jwt.claims",
        r#"{"sub": "22222222-2222-2222-2222-222222222222"}"#,
    )
    .await;

    assert_eq!(
        texts(&caller, "select body from public.notes").await,
        ["bob@example.com"]
    );
}

#[tokio::test]
async fn tables_of_later_migrations_have_the_same_rights() {
    let db = TestDatabase::create().await;
    let owner = db.connect_as("supabase_auth_admin").await;
    owner
        .batch_execute("create table auth.later (id int)")
        .await
        .expect("owner may create");

    let rights = texts(
        &owner,
        "select role from unnest(array['postgres', 'dashboard_user', 'anon', 'authenticated',
                                       'service_role']) as role
         where has_table_privilege(role, 'auth.later', 'select, insert, update, delete')",
    )
    .await;
    let passes_on =
        "select has_table_privilege('postgres', 'auth.later', 'select with grant option')";

    assert_eq!(rights, ["postgres", "dashboard_user"]);
    assert!(holds(&owner, passes_on).await);
}

/// The first column of every row.
async fn texts(client: &Client, sql: &str) -> Vec<String> {
    let rows = client.query(sql, &[]).await.expect(sql);
    rows.iter().map(|row| row.get(0)).collect()
}

async fn holds(client: &Client, sql: &str) -> bool {
    client.query_one(sql, &[]).await.expect(sql).get(0)
}

async fn set(client: &Client, name: &str, value: &str) {
    let sql = "select set_config($1, $2, false)";
    client.query_one(sql, &[&name, &value]).await.expect(name);
}

/// `auth.uid()`, `auth.role()` and `auth.email()`.
async fn helpers(client: &Client) -> Vec<String> {
    texts(
        client,
        "select unnest(array[auth.uid()::text, auth.role(), auth.email()])",
    )
    .await
}

#[tokio::test]
async fn searches_of_operators_have_indexes() {
    let db = TestDatabase::create().await;
    let admin = db.admin().await;
    admin
        .batch_execute("set enable_seqscan = off; set enable_indexonlyscan = off")
        .await
        .expect("settings");

    for (query, index) in [
        (
            "auth.users u where u.phone ~>=~ '491' and u.phone ~<~ '491:'",
            "users_phone_search_idx",
        ),
        (
            "auth.users u where u.raw_user_meta_data ->> 'full_name' is null
               and auth.search_pieces(u.raw_user_meta_data ->> 'name') @> array['abc']",
            "users_name_search_idx",
        ),
        (
            "auth.users u where u.raw_user_meta_data @> '{\"a\": 1}'",
            "users_user_metadata_idx",
        ),
        (
            "auth.users u where u.raw_app_meta_data @> '{\"a\": 1}'",
            "users_app_metadata_idx",
        ),
        (
            "auth.users u where u.email is not null and (lower(u.email), u.id) > ('a', u.id)
             order by lower(u.email), u.id limit 50",
            "users_email_order_idx",
        ),
        (
            "auth.users u where u.banned_until > now()",
            "users_banned_idx",
        ),
        (
            "auth.users u where u.confirmed_at is null
             order by u.created_at desc, u.id desc limit 50",
            "users_unconfirmed_idx",
        ),
        (
            "auth.identities i where i.provider = 'github'",
            "identities_provider_idx",
        ),
        (
            "auth.audit_log_entries a where a.payload ->> 'actor_id' = 'x'
             order by a.created_at desc limit 50",
            "audit_log_entries_actor_idx",
        ),
        (
            "auth.audit_log_entries a where a.payload -> 'traits' ->> 'user_id' = 'x'
             order by a.created_at desc limit 50",
            "audit_log_entries_user_idx",
        ),
    ] {
        let plan = texts(&admin, &format!("explain select 1 from {query}")).await;
        assert!(plan.join("\n").contains(index), "{index}: {plan:#?}");
    }
}
