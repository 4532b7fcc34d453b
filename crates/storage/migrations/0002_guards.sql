-- Rules that hold whoever writes: the storage service, a user's SQL or a restored dump.

set local role supabase_storage_admin;

create or replace function storage.update_updated_at_column()
returns trigger
language plpgsql
as $$
begin
    new.updated_at := now();
    return new;
end
$$;

create or replace trigger update_objects_updated_at
    before update on storage.objects
    for each row execute function storage.update_updated_at_column();

create or replace function storage.enforce_bucket_name_length()
returns trigger
language plpgsql
as $$
begin
    if length(new.name) > 100 then
        raise exception 'Bucket name "%" has % characters, but at most 100 are allowed.',
            new.name, length(new.name);
    end if;
    return new;
end
$$;

create or replace trigger enforce_bucket_name_length_trigger
    before insert or update of name on storage.buckets
    for each row execute function storage.enforce_bucket_name_length();

-- A deleted row would leave its bytes behind for ever. The service removes both and says so by
-- setting storage.allow_delete_query for its own transaction; a statement trigger, so that even a
-- DELETE that meets no row is answered.
create or replace function storage.protect_delete()
returns trigger
language plpgsql
as $$
begin
    if coalesce(current_setting('storage.allow_delete_query', true), '') <> 'true' then
        raise insufficient_privilege using
            message = 'Direct deletion from storage tables is not allowed. Use the Storage API instead.',
            hint = 'A row deleted by SQL leaves its file behind without an owner.';
    end if;
    return null;
end
$$;

create or replace trigger protect_buckets_delete
    before delete on storage.buckets
    for each statement execute function storage.protect_delete();

create or replace trigger protect_objects_delete
    before delete on storage.objects
    for each statement execute function storage.protect_delete();

reset role;
