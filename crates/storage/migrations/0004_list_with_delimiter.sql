-- Listing one level of a bucket by exact name: objects directly below a prefix, and one row for
-- each folder, that is for everything that shares its name up to the next delimiter.
--
-- A folder may hold millions of objects, so the level is walked by skip scan: an index scan reads
-- until it meets a folder, which is returned at once; the next scan starts behind its last possible
-- name. The cost follows the rows returned, not the objects passed over. Two texts make it work, in
-- byte order: no name below `f` sorts after `f || chr(1114111)` (the last character there is), and
-- nothing fits between `f` and `f || chr(1)`.
--
-- Everything runs with the caller's rights, so folders exist only through objects they may see.

set local role supabase_storage_admin;

-- `p_key` up to and including the first delimiter behind the prefix; null when it has none there.
create or replace function storage.get_common_prefix(p_key text, p_prefix text, p_delimiter text)
returns text
language sql
immutable
parallel safe
as $$
    select case
        when p_delimiter <> ''
            and position(p_delimiter in substr(p_key, length(p_prefix) + 1)) > 0
        then left(
            p_key,
            length(p_prefix)
                + position(p_delimiter in substr(p_key, length(p_prefix) + 1))
                + length(p_delimiter) - 1
        )
    end
$$;

-- Where a page begins can be said in two ways:
--   next_token   exactly: a folder with its delimiter (`a/`) or an object without (`a`).
--   start_after  also as a name from an earlier page, where folders come without their delimiter; if
--                there is a folder of that name it is meant, even when an object is called so too.
--
-- Sorting is switched off so that the planner always reads in index order: its estimate of what
-- lies behind the seek is a guess, and a wrong one would collect and sort the whole bucket.
create or replace function storage.list_objects_with_delimiter(
    _bucket_id text,
    prefix_param text,
    delimiter_param text,
    max_keys integer default 100,
    start_after text default '',
    next_token text default '',
    sort_order text default 'asc'
)
returns table (
    name text,
    id uuid,
    metadata jsonb,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz
)
language plpgsql
stable
set enable_sort = off
as $$
declare
    last_character constant text := chr(1114111);
    prefix constant text := coalesce(prefix_param, '');
    delimiter constant text := coalesce(delimiter_param, '');
    is_descending constant boolean := lower(coalesce(sort_order, 'asc')) = 'desc';
    low text := prefix;
    high text := prefix || last_character;
    page_start text := coalesce(nullif(next_token, ''), start_after, '');
    rows_left integer := coalesce(max_keys, 100);
    level refcursor;
    object record;
    folder text;
begin
    if coalesce(next_token, '') = ''
        and page_start <> ''
        and delimiter <> ''
        and page_start is distinct from storage.get_common_prefix(page_start, prefix, delimiter)
        and exists (
            select
            from storage.objects o
            where o.bucket_id = _bucket_id
              and o.name collate "C" >= page_start || delimiter
              and o.name collate "C" < page_start || delimiter || last_character
        )
    then
        page_start := page_start || delimiter;
    end if;

    if page_start <> '' and is_descending then
        high := least(high collate "C", page_start);
    elsif page_start <> '' and page_start = storage.get_common_prefix(page_start, prefix, delimiter) then
        low := greatest(low collate "C", page_start || last_character);
    elsif page_start <> '' then
        low := greatest(low collate "C", page_start || chr(1));
    end if;

    while rows_left > 0 loop
        if is_descending then
            open level no scroll for
                select o.name, o.id, o.metadata, o.updated_at, o.created_at, o.last_accessed_at
                from storage.objects o
                where o.bucket_id = _bucket_id
                  and o.name collate "C" >= low
                  and o.name collate "C" < high
                order by o.name collate "C" desc;
        else
            open level no scroll for
                select o.name, o.id, o.metadata, o.updated_at, o.created_at, o.last_accessed_at
                from storage.objects o
                where o.bucket_id = _bucket_id
                  and o.name collate "C" >= low
                  and o.name collate "C" < high
                order by o.name collate "C";
        end if;

        folder := null;
        while rows_left > 0 and folder is null loop
            fetch level into object;
            exit when not found;

            folder := storage.get_common_prefix(object.name, prefix, delimiter);
            if folder is null then
                name := object.name;
                id := object.id;
                metadata := object.metadata;
                updated_at := object.updated_at;
                created_at := object.created_at;
                last_accessed_at := object.last_accessed_at;
            else
                name := left(folder, -length(delimiter));
                id := null;
                metadata := null;
                updated_at := null;
                created_at := null;
                last_accessed_at := null;
            end if;
            return next;
            rows_left := rows_left - 1;
        end loop;
        close level;

        exit when folder is null;
        if is_descending then
            high := folder;
        else
            low := folder || last_character;
        end if;
    end loop;
end
$$;

grant execute on function
    storage.get_common_prefix(text, text, text),
    storage.list_objects_with_delimiter(text, text, text, integer, text, text, text)
to postgres, anon, authenticated, service_role;

reset role;
