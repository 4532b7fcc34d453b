-- Tools look into storage.migrations to learn whether the schema is installed and how far. Plinth
-- keeps its own ledger elsewhere, so one row says whose schema this is.

set local role supabase_storage_admin;

create table if not exists storage.migrations (
    id integer not null primary key,
    name varchar(100) not null unique,
    hash varchar(40) not null,
    executed_at timestamp default current_timestamp
);

alter table storage.migrations enable row level security;

insert into storage.migrations (id, name, hash)
select coalesce(max(m.id) + 1, 0), 'plinth-storage-schema', md5('plinth-storage-schema')
from storage.migrations m
on conflict (name) do nothing;

reset role;
