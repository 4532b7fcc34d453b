-- Tools look into realtime.schema_migrations to learn whether the schema is installed. Plinth keeps
-- its own ledger elsewhere, so one row says whose level this schema has: versions are dates there.

set local role supabase_realtime_admin;

create table if not exists realtime.schema_migrations (
    version bigint not null primary key,
    inserted_at timestamp(0) without time zone default timezone('utc', now())
);

revoke all on realtime.schema_migrations from public, anon, authenticated, service_role;

insert into realtime.schema_migrations (version)
values (20260709120000)
on conflict do nothing;

reset role;
