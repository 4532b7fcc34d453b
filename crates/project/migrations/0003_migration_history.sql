-- The official tool's own ledger of a user's migrations and seeds (console contract §2.4.5):
-- it checks the first three columns and ignores the others, and so both tools agree.
create schema if not exists supabase_migrations authorization postgres;
set local role postgres;

create table if not exists supabase_migrations.schema_migrations (
    version text not null primary key,
    statements text[],
    name text,
    rollback text[],
    created_by text,
    idempotency_key text
);

create table if not exists supabase_migrations.seed_files (
    path text not null primary key,
    hash text not null
);
