-- Functions that users' policies and queries call.
--
-- Written in SQL where possible: the planner then folds them into the policy, which is evaluated
-- for every row, instead of calling out for each.

set local role supabase_storage_admin;

create or replace function storage.foldername(name text)
returns text[]
language sql
immutable
parallel safe
as $$
    select (string_to_array(name, '/'))[1 : cardinality(string_to_array(name, '/')) - 1]
$$;

create or replace function storage.filename(name text)
returns text
language sql
immutable
parallel safe
as $$
    select split_part(name, '/', -1)
$$;

create or replace function storage.extension(name text)
returns text
language sql
immutable
parallel safe
as $$
    select split_part(split_part(name, '/', -1), '.', -1)
$$;

-- What the storage service is doing right now, as in `storage.object.upload`.
create or replace function storage.operation()
returns text
language sql
stable
parallel safe
as $$
    select current_setting('storage.operation', true)
$$;

-- The leading `storage.` may be left out on either side.
create or replace function storage.allow_any_operation(expected_operations text[])
returns boolean
language sql
stable
parallel safe
as $$
    select exists (
        select
        from unnest(expected_operations) as expected
        where expected <> ''
          and regexp_replace(expected, '^storage\.', '')
              = regexp_replace(storage.operation(), '^storage\.', '')
    )
$$;

create or replace function storage.allow_only_operation(expected_operation text)
returns boolean
language sql
stable
parallel safe
as $$
    select storage.allow_any_operation(array[expected_operation])
$$;

-- Tries the insert as the caller and always undoes it by raising: PT200 means it would succeed,
-- any other state is the reason why not.
create or replace function storage.can_insert_object(
    bucketid text,
    name text,
    owner uuid,
    metadata jsonb
)
returns void
language plpgsql
as $$
begin
    insert into storage.objects (bucket_id, name, owner, metadata)
    values (
        can_insert_object.bucketid,
        can_insert_object.name,
        can_insert_object.owner,
        can_insert_object.metadata
    );
    raise sqlstate 'PT200' using
        message = 'ROLLBACK',
        detail = 'rollback successful insert';
end
$$;

-- Rows inserted by SQL may carry any metadata; a size that is no number counts as nothing.
create or replace function storage.get_size_by_bucket()
returns table (size bigint, bucket_id text)
language sql
stable
as $$
    select
        coalesce(sum((o.metadata ->> 'size')::bigint)
            filter (where o.metadata ->> 'size' ~ '^[0-9]{1,18}$'), 0)::bigint,
        o.bucket_id
    from storage.objects o
    group by o.bucket_id
$$;

grant execute on function
    storage.foldername(text),
    storage.filename(text),
    storage.extension(text),
    storage.operation(),
    storage.allow_any_operation(text[]),
    storage.allow_only_operation(text),
    storage.can_insert_object(text, text, uuid, jsonb),
    storage.get_size_by_bucket()
to postgres, anon, authenticated, service_role;

reset role;
