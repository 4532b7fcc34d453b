-- realtime.messages: what the database itself broadcasts, and the table whose policies say who may
-- read from and write to a private channel.
--
-- Every committed insert is sent out and kept for 72 hours, for replay. The table is cut by day, so
-- that forgetting a day is dropping a table, never deleting rows; 0002 looks after the days.
-- Everything belongs to supabase_realtime_admin, which `postgres` inherits: only an owner may create
-- policies. A database that already carries this schema is taken over as it is.

create schema if not exists realtime authorization supabase_realtime_admin;

set local role supabase_realtime_admin;

grant usage on schema realtime to postgres with grant option;
grant usage on schema realtime to anon, authenticated, service_role;

-- The two times are UTC whatever the session's time zone, for the days are cut in UTC.
create table if not exists realtime.messages (
    topic text not null,
    extension text not null,
    payload jsonb,
    event text,
    private boolean default false,
    updated_at timestamp not null default timezone('utc', now()),
    inserted_at timestamp not null default timezone('utc', now()),
    id uuid not null default gen_random_uuid(),
    binary_payload bytea,
    primary key (id, inserted_at)
) partition by range (inserted_at);

do $$
begin
    if not exists (
        select
        from pg_constraint
        where conrelid = 'realtime.messages'::regclass
          and conname = 'messages_payload_exclusive'
    ) then
        alter table realtime.messages
            add constraint messages_payload_exclusive
            check (payload is null or binary_payload is null) not valid;
    end if;
end
$$;

create index if not exists messages_inserted_at_topic_index
    on realtime.messages (inserted_at desc, topic)
    where extension = 'broadcast' and private is true;

alter table realtime.messages enable row level security;

grant select, insert, update on realtime.messages to anon, authenticated, service_role;
grant all on realtime.messages to postgres;

reset role;
