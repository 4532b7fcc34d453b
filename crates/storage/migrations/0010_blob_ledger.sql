-- Which bytes are on their way in, and which on their way out.
--
-- Bytes live outside the database, and a crash can come between any two steps. So each blob is at
-- all times named by a row of storage.objects, by plinth.pending_blob (being written, not yet
-- committed) or by plinth.blob_gc (no longer needed). Triggers keep the three in step within the
-- transaction that changes a row, whoever changes it: the service, or a user's own SQL.

create table plinth.pending_blob (
  version uuid primary key,
  created_at timestamptz not null default now()
);
comment on table plinth.pending_blob is 'Bytes that are being written and belong to no object yet.';

create table plinth.blob_gc (
  version uuid primary key,
  not_before timestamptz not null,
  attempts integer not null default 0
);
comment on table plinth.blob_gc is 'Bytes that no object needs any more, and when they may go.';

create index blob_gc_not_before_idx on plinth.blob_gc (not_before);

grant usage on schema plinth to plinth_storage;
grant select, insert, update, delete on plinth.pending_blob, plinth.blob_gc
  to plinth_storage;

-- Users' rows may hold any text; only a uuid can name bytes.
create function plinth.blob_version(version text) returns uuid
language sql
immutable
set search_path = ''
as $$
  select case
    when version ~ '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
    then version::uuid
  end
$$;

-- Downloads that have begun go on reading for a while.
create function plinth.release_blob(version uuid) returns void
language sql
set search_path = ''
as $$
  insert into plinth.blob_gc (version, not_before)
  select version, now() + interval '15 minutes'
  where version is not null
  on conflict do nothing
$$;

create function plinth.follow_objects() returns trigger
language plpgsql
security definer
set search_path = ''
as $$
begin
  if tg_op <> 'INSERT' then
    perform plinth.release_blob(plinth.blob_version(old.version));
  end if;
  if tg_op <> 'DELETE' then
    delete from plinth.pending_blob as p where p.version = plinth.blob_version(new.version);
  end if;
  return null;
end
$$;

revoke all on function
  plinth.blob_version(text), plinth.release_blob(uuid), plinth.follow_objects()
from public;

create trigger plinth_follow_new_objects
  after insert on storage.objects
  for each row
  when (new.version is not null)
  execute function plinth.follow_objects();

create trigger plinth_follow_changed_objects
  after update of version on storage.objects
  for each row
  when (old.version is distinct from new.version)
  execute function plinth.follow_objects();

create trigger plinth_follow_deleted_objects
  after delete on storage.objects
  for each row
  when (old.version is not null)
  execute function plinth.follow_objects();

-- Before bytes are removed, no row may refer to them: a user's SQL can copy a row.
create index if not exists idx_objects_version on storage.objects (version);
