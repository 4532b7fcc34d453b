-- Buckets and objects: what a user sees of storage, and where row level security is written.
--
-- Users' migrations, dumps and policies name these tables and columns, so their spelling is fixed.
-- Everything belongs to supabase_storage_admin, which `postgres` inherits: only an owner may create
-- policies. A database that already carries this schema is taken over as it is.

create schema if not exists storage authorization supabase_storage_admin;

set local role supabase_storage_admin;

grant usage on schema storage to postgres, anon, authenticated, service_role;

do $$
begin
    if to_regtype('storage.buckettype') is null then
        create type storage.buckettype as enum ('STANDARD', 'ANALYTICS', 'VECTOR');
    end if;
end
$$;

create table if not exists storage.buckets (
    id text not null primary key,
    name text not null,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    public boolean default false,
    avif_autodetection boolean default false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text,
    type storage.buckettype not null default 'STANDARD',
    versioning_status text not null default 'DISABLED',
    constraint buckets_versioning_status_check
        check (versioning_status in ('DISABLED', 'ENABLED', 'SUSPENDED')),
    constraint buckets_versioning_standard_only_check
        check (type = 'STANDARD' or versioning_status = 'DISABLED'),
    -- Versions are described here before any writer keeps them: this check prevents their use.
    constraint buckets_versioning_dark_check
        check (versioning_status = 'DISABLED')
);

comment on column storage.buckets.owner is 'Deprecated, use owner_id: a subject need not be a uuid.';

create unique index if not exists bname on storage.buckets (name);

create table if not exists storage.objects (
    id uuid not null default gen_random_uuid() primary key,
    bucket_id text,
    name text,
    owner uuid,
    created_at timestamptz default now(),
    updated_at timestamptz default now(),
    last_accessed_at timestamptz default now(),
    metadata jsonb,
    path_tokens text[] generated always as (string_to_array(name, '/')) stored,
    version text,
    owner_id text,
    user_metadata jsonb,
    archived_at timestamptz,
    is_delete_marker boolean not null default false,
    is_versioned boolean not null default false,
    constraint "objects_bucketId_fkey" foreign key (bucket_id) references storage.buckets (id)
);

comment on column storage.objects.owner is 'Deprecated, use owner_id: a subject need not be a uuid.';

create unique index if not exists bucketid_objname
    on storage.objects (bucket_id, name);
-- Listing walks these two in byte order: by exact name, and by name without regard to case.
create index if not exists idx_objects_bucket_id_name
    on storage.objects (bucket_id, name collate "C");
create index if not exists idx_objects_bucket_id_name_lower
    on storage.objects (bucket_id, lower(name) collate "C");
create index if not exists name_prefix_search
    on storage.objects (name text_pattern_ops);

alter table storage.buckets enable row level security;
alter table storage.objects enable row level security;

grant all on storage.buckets, storage.objects to anon, authenticated, service_role;
grant all on storage.buckets, storage.objects to postgres with grant option;

reset role;
