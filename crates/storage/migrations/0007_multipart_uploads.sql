-- Uploads in parts that are still under way (S3 protocol). The service writes them; users may look.

set local role supabase_storage_admin;

create table if not exists storage.s3_multipart_uploads (
    id text not null primary key,
    in_progress_size bigint not null default 0,
    upload_signature text not null,
    bucket_id text not null references storage.buckets (id),
    key text collate "C" not null,
    version text not null,
    owner_id text,
    created_at timestamptz not null default now(),
    user_metadata jsonb,
    metadata jsonb
);

create index if not exists idx_multipart_uploads_list
    on storage.s3_multipart_uploads (bucket_id, key, created_at);

create table if not exists storage.s3_multipart_uploads_parts (
    id uuid not null default gen_random_uuid() primary key,
    upload_id text not null references storage.s3_multipart_uploads (id) on delete cascade,
    size bigint not null default 0,
    part_number integer not null,
    bucket_id text not null references storage.buckets (id),
    key text collate "C" not null,
    etag text not null,
    owner_id text,
    version text not null,
    created_at timestamptz not null default now()
);

-- An upload has up to 10,000 parts: they are listed in this order and go with their upload.
create index if not exists idx_multipart_uploads_parts_list
    on storage.s3_multipart_uploads_parts (upload_id, part_number);

alter table storage.s3_multipart_uploads enable row level security;
alter table storage.s3_multipart_uploads_parts enable row level security;

grant all on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts to service_role;
grant select on storage.s3_multipart_uploads, storage.s3_multipart_uploads_parts
    to anon, authenticated;

-- One level of the uploads under way, ordered by key and, for several uploads of one key, by id. A
-- folder row has the key with its delimiter and neither id nor time. A page continues behind
-- `next_key_token`, or with `next_upload_token` behind that upload of that key.
create or replace function storage.list_multipart_uploads_with_delimiter(
    bucket_id text,
    prefix_param text,
    delimiter_param text,
    max_keys integer default 100,
    next_key_token text default '',
    next_upload_token text default ''
)
returns table (key text, id text, created_at timestamptz)
language sql
stable
as $$
    with below_prefix as (
        select
            storage.get_common_prefix(u.key, coalesce(prefix_param, ''), delimiter_param) as folder,
            u.key,
            u.id,
            u.created_at
        from storage.s3_multipart_uploads u
        where u.bucket_id = list_multipart_uploads_with_delimiter.bucket_id
          and u.key >= coalesce(prefix_param, '')
          and u.key < coalesce(prefix_param, '') || chr(1114111)
    ),
    entries as (
        select distinct b.folder as key, null::text as id, null::timestamptz as created_at
        from below_prefix b
        where b.folder is not null
        union all
        select b.key, b.id, b.created_at
        from below_prefix b
        where b.folder is null
    )
    select e.key, e.id, e.created_at
    from entries e
    where coalesce(next_key_token, '') = ''
       or e.key > next_key_token collate "C"
       or (e.key = next_key_token and e.id > nullif(next_upload_token, '') collate "C")
    order by e.key, e.id collate "C"
    limit coalesce(max_keys, 100)
$$;

grant execute on function
    storage.list_multipart_uploads_with_delimiter(text, text, text, integer, text, text)
to postgres, anon, authenticated, service_role;

reset role;
