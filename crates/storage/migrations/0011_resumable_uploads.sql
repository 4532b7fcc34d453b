-- Uploads that may stop and go on: after the client was restarted, or Plinth was.
--
-- What this table says has come is the truth; bytes that the store has beyond that do not count and
-- are overwritten. As long as an upload is unfinished its version also stands in
-- plinth.pending_blob, and the commit of the object removes it there, in one transaction: so an
-- upload is finished exactly when nothing is pending any more.

create table plinth.resumable_upload (
  version uuid primary key,
  bucket_id text not null,
  name text not null,
  length bigint check (length >= 0),
  received bigint not null default 0 check (received >= 0),
  metadata text not null,
  chunk_md5 bytea[] not null default '{}',
  store_state jsonb,
  lease_id uuid,
  lease_until timestamptz,
  lease_is_wanted boolean not null default false,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
comment on table plinth.resumable_upload is 'Uploads over several requests, and how far each has come.';
comment on column plinth.resumable_upload.length is 'Of the whole file; null until the client says it.';
comment on column plinth.resumable_upload.metadata is 'What the client said about the file, as its header has it.';
comment on column plinth.resumable_upload.chunk_md5 is 'Digest of what each request brought.';
comment on column plinth.resumable_upload.store_state is 'What a store must know to go on, if it cannot tell itself.';
comment on column plinth.resumable_upload.lease_id is 'The request that writes now, until lease_until.';
comment on column plinth.resumable_upload.lease_is_wanted is 'Another request waits: the writer shall stop.';

create index resumable_upload_expires_at_idx on plinth.resumable_upload (expires_at);

grant select, insert, update, delete on plinth.resumable_upload to plinth_storage;
