-- Rate limits that several nodes count together, where `plinth.auth.rate_limit.shared` is on.
--
-- It belongs to Plinth, not to the schema `auth`: no dump should hold it, and GoTrue does not know it.
-- The table is not logged: a crash may lose the counts, and counting must not wait for the disk.
-- Pages have free space, because the same rows are updated again and again.

create unlogged table plinth.auth_rate_limits (
  bucket text not null,
  client text not null,
  tokens double precision not null,
  updated_at timestamptz not null,
  primary key (bucket, client)
) with (fillfactor = 70);
comment on table plinth.auth_rate_limits is 'Token buckets of the auth service, one per client.';

grant select, insert, update, delete on plinth.auth_rate_limits to supabase_auth_admin;
