//! Users in the databases. Everything about a user follows from their number, so that nothing need be stored:
//! ids and tokens are that number with a prefix.

use anyhow::anyhow;

use crate::databases::Databases;

/// The password of all users.
pub(crate) const PASSWORD: &str = "correct horse battery";
/// The one-time code of users named in [`expect_code`].
pub(crate) const CODE: &str = "123456";
/// The usual bcrypt cost.
pub(crate) const COST: u32 = 10;

/// Ids of sessions and tokens have other offsets than those of users, so that a value shows its
/// kind.
pub(crate) const SESSION: u64 = 1_000_000_000;
const TOKEN: u64 = 100_000_000_000;

pub(crate) fn email(user: u64) -> String {
    format!("person{user}@example.com")
}

pub(crate) fn user_id(user: u64) -> String {
    uuid(user)
}

/// Every user is signed in once.
pub(crate) fn session_id(user: u64) -> String {
    uuid(SESSION + user)
}

/// The token that a session starts with.
pub(crate) fn first_token(user: u64) -> String {
    (TOKEN + user).to_string()
}

/// Decimal digits are good hexadecimal ones.
fn uuid(number: u64) -> String {
    let digits = format!("{number:032}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts.map(|part| &digits[part]).join("-")
}

/// Trigram indexes are created after the rows: maintaining them row by row takes most of the time.
const WITHOUT_SEARCH: &str = "
    create table public.search_indexes as
        select indexname, indexdef from pg_indexes
        where schemaname = 'auth' and tablename = 'users' and indexdef like '% USING gin %';
    do $$
    declare
        name text;
    begin
        for name in select indexname from public.search_indexes loop
            execute format('drop index auth.%I', name);
        end loop;
    end $$";
const WITH_SEARCH: &str = "
    set maintenance_work_mem = '512MB';
    do $$
    declare
        definition text;
    begin
        for definition in select indexdef from public.search_indexes loop
            execute definition;
        end loop;
    end $$;
    drop table public.search_indexes";

/// Fills a database that has the schema with users numbered from one.
pub(crate) fn fill(databases: &Databases, database: &str, count: u64) -> anyhow::Result<()> {
    let hash = hash()?;
    databases.execute(database, WITHOUT_SEARCH)?;
    databases.execute(database, &rows(count, &hash))?;
    for statement in [WITH_SEARCH, "vacuum (analyze)", "checkpoint"] {
        databases.execute(database, statement)?;
    }
    Ok(())
}

/// Of [`PASSWORD`], as every user has it.
pub(crate) fn hash() -> anyhow::Result<String> {
    bcrypt::hash(PASSWORD, COST).map_err(|error| anyhow!("{error}"))
}

/// Foreign keys hold by construction; looking each one up would take most of the time.
fn rows(count: u64, hash: &str) -> String {
    format!(
        "set synchronous_commit = off;
         set session_replication_role = replica;
         insert into auth.users (instance_id, id, aud, role, email, encrypted_password,
             email_confirmed_at, confirmation_token, recovery_token, email_change_token_new,
             email_change, raw_app_meta_data, raw_user_meta_data, created_at, updated_at)
         select '00000000-0000-0000-0000-000000000000', lpad(n::text, 32, '0')::uuid,
             'authenticated', 'authenticated', 'person' || n || '@example.com', '{hash}', t,
             '', '', '', '', '{{\"provider\": \"email\", \"providers\": [\"email\"]}}',
             '{{\"full_name\": \"A Person\", \"email_verified\": true}}', t, t
         from generate_series(1, {count}) n, lateral (select now() - n * interval '1 minute' t) l;

         insert into auth.identities (provider_id, user_id, identity_data, provider,
             last_sign_in_at, created_at, updated_at)
         select u.id::text, u.id,
             jsonb_build_object('sub', u.id, 'email', u.email, 'email_verified', true), 'email',
             u.created_at, u.created_at, u.created_at
         from auth.users u;

         insert into auth.sessions (id, user_id, created_at, updated_at, aal, user_agent, ip)
         select lpad(({SESSION} + n)::text, 32, '0')::uuid, lpad(n::text, 32, '0')::uuid, now(),
             now(), 'aal1', 'node', '127.0.0.1'
         from generate_series(1, {count}) n;

         insert into auth.mfa_amr_claims (id, session_id, authentication_method, created_at,
             updated_at)
         select gen_random_uuid(), s.id, 'password', now(), now() from auth.sessions s;

         insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at,
             updated_at, session_id)
         select '00000000-0000-0000-0000-000000000000', ({TOKEN} + n)::text,
             lpad(n::text, 32, '0')::uuid::text, false, now(), now(),
             lpad(({SESSION} + n)::text, 32, '0')::uuid
         from generate_series(1, {count}) n;

         insert into auth.audit_log_entries (instance_id, id, payload, created_at)
         select '00000000-0000-0000-0000-000000000000', gen_random_uuid(),
             json_build_object('action', 'login', 'actor_id', u.id), u.created_at
         from auth.users u;

         reset session_replication_role;"
    )
}

/// Lets these users verify [`CODE`] once.
pub(crate) fn expect_code(
    databases: &Databases,
    database: &str,
    users: &[u64],
) -> anyhow::Result<()> {
    let numbers: Vec<String> = users.iter().map(u64::to_string).collect();
    let numbers = numbers.join(",");
    databases.execute(
        database,
        &format!(
            "with asked as (
                 update auth.users set recovery_sent_at = now(),
                     recovery_token = encode(sha224((email || '{CODE}')::bytea), 'hex')
                 where id in (select lpad(n::text, 32, '0')::uuid
                     from unnest('{{{numbers}}}'::text[]) n)
                 returning id, email, recovery_token)
             insert into auth.one_time_tokens (id, user_id, token_type, token_hash, relates_to)
             select gen_random_uuid(), id, 'recovery_token', recovery_token, email from asked
             on conflict (user_id, token_type) do update set token_hash = excluded.token_hash"
        ),
    )
}

/// Replaces the tokens of these users' sessions by one each, numbered from `first_token`.
pub(crate) fn renumber_tokens(
    databases: &Databases,
    database: &str,
    (first, last): (u64, u64),
    first_token: u64,
) -> anyhow::Result<()> {
    databases.execute(
        database,
        &format!(
            "create temporary table mine as
             select n, lpad(({SESSION} + n)::text, 32, '0')::uuid as session
             from generate_series({first}, {last}) n;
             delete from auth.refresh_tokens t using mine where t.session_id = mine.session;
             insert into auth.refresh_tokens (instance_id, token, user_id, revoked, created_at,
                 updated_at, session_id)
             select '00000000-0000-0000-0000-000000000000', ({first_token} + n - {first})::text,
                 lpad(n::text, 32, '0')::uuid::text, false, now(), now(), session
             from mine"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ids_and_tokens_of_the_right_length() {
        assert_eq!(user_id(7), "00000000-0000-0000-0000-000000000007");
        assert_eq!(
            session_id(1_000_000),
            "00000000-0000-0000-0000-001001000000"
        );
        assert_eq!(first_token(1_000_000), "100001000000");
    }
}
