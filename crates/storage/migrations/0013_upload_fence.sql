-- Only the request that holds the lease may make an object of an upload over several requests.
--
-- A request that lost its lease may not know that yet: it was suspended for a while, and meanwhile
-- another node took over. So the lease is checked by the transaction that makes the object, with the
-- upload's row locked until it ends. The service sets `plinth.upload_lease` to the lease that it
-- holds; a lease cannot be guessed. Once the bytes belong to an object, rows that name them come and
-- go as before.

create or replace function plinth.follow_objects() returns trigger
language plpgsql
security definer
set search_path = ''
as $$
declare
  lease uuid;
  is_resumable boolean;
begin
  if tg_op <> 'INSERT' then
    perform plinth.release_blob(plinth.blob_version(old.version));
  end if;
  if tg_op <> 'DELETE' then
    -- First the upload, then the pending bytes, as whoever gives an upload up.
    select u.lease_id into lease
    from plinth.resumable_upload u
    where u.version = plinth.blob_version(new.version)
    for update;
    is_resumable := found;
    delete from plinth.pending_blob as p where p.version = plinth.blob_version(new.version);
    if found and is_resumable
      and (lease::text = current_setting('plinth.upload_lease', true)) is not true
    then
      raise exception 'another request has taken over the upload' using errcode = '55006';
    end if;
  end if;
  return null;
end
$$;

-- Stores report themselves where an upload continues.
alter table plinth.resumable_upload drop column store_state;
