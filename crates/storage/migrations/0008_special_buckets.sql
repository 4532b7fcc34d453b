-- Buckets that hold tables or vectors instead of files. Kept so that tools which list every kind of
-- bucket find their tables; they stay empty until a service fills them.

set local role supabase_storage_admin;

create table if not exists storage.buckets_analytics (
    id uuid not null default gen_random_uuid() primary key,
    name text not null,
    type storage.buckettype not null default 'ANALYTICS',
    format text not null default 'ICEBERG',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz
);

create unique index if not exists buckets_analytics_unique_name_idx
    on storage.buckets_analytics (name)
    where deleted_at is null;

create table if not exists storage.iceberg_namespaces (
    id uuid not null default gen_random_uuid() primary key,
    bucket_name text not null,
    name text collate "C" not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    metadata jsonb not null default '{}',
    catalog_id uuid not null references storage.buckets_analytics (id) on delete cascade
);

create unique index if not exists idx_iceberg_namespaces_bucket_id
    on storage.iceberg_namespaces (catalog_id, name);

create table if not exists storage.iceberg_tables (
    id uuid not null default gen_random_uuid() primary key,
    namespace_id uuid not null references storage.iceberg_namespaces (id) on delete cascade,
    bucket_name text not null,
    name text collate "C" not null,
    location text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    remote_table_id text,
    shard_key text,
    shard_id text,
    catalog_id uuid not null references storage.buckets_analytics (id) on delete cascade
);

create unique index if not exists idx_iceberg_tables_namespace_id
    on storage.iceberg_tables (catalog_id, namespace_id, name);
create unique index if not exists idx_iceberg_tables_location
    on storage.iceberg_tables (location);

create table if not exists storage.buckets_vectors (
    id text not null primary key,
    type storage.buckettype not null default 'VECTOR',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table if not exists storage.vector_indexes (
    id text not null default gen_random_uuid()::text primary key,
    name text collate "C" not null,
    bucket_id text not null references storage.buckets_vectors (id),
    data_type text not null,
    dimension integer not null,
    distance_metric text not null,
    metadata_configuration jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create unique index if not exists vector_indexes_name_bucket_id_idx
    on storage.vector_indexes (name, bucket_id);

alter table storage.buckets_analytics enable row level security;
alter table storage.iceberg_namespaces enable row level security;
alter table storage.iceberg_tables enable row level security;
alter table storage.buckets_vectors enable row level security;
alter table storage.vector_indexes enable row level security;

grant all on storage.buckets_analytics to anon, authenticated, service_role;
grant all on storage.iceberg_namespaces, storage.iceberg_tables to service_role;
grant select on storage.iceberg_namespaces, storage.iceberg_tables to anon, authenticated;
grant select on storage.buckets_vectors, storage.vector_indexes
    to anon, authenticated, service_role;

reset role;
