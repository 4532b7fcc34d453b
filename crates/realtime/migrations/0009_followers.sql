-- Nodes that receive the WAL from another one, and get no heartbeats of it, write heartbeats and their
-- position here, since the broker may reach that node and not them. Unlogged: nothing of it is needed after
-- a crash, and it costs no WAL.

set local role supabase_realtime_admin;

create unlogged table if not exists realtime.followers (
    node bigint not null primary key,
    received bigint not null,
    delivered bigint not null,
    seen_at timestamp with time zone not null
);

revoke all on realtime.followers from public, anon, authenticated, service_role;

reset role;
