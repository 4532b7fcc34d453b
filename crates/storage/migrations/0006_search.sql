-- Listing without regard to case, in pages by offset: what the first list endpoint returns and what
-- users call from SQL.
--
-- The same skip scan as storage.list_objects_with_delimiter, over the lower-case names. Under row
-- level security Postgres lets a condition use an index before the policy has spoken only if its
-- functions are known to leak nothing. The comparisons are, lower() is not, although it has nothing
-- to say about its argument either; without that mark each step of a caller's listing would read the
-- bucket from its beginning. Only a superuser may set it; elsewhere listing is right, only slower.

do $$
begin
    if (select rolsuper from pg_roles where rolname = current_user) then
        alter function pg_catalog.lower(text) leakproof;
    end if;
end
$$;

set local role supabase_storage_admin;

-- One level below `p_prefix || p_search` in name order. Names are relative to the prefix alone; a
-- folder shows the case of its first object. Not limited when `p_limit` is null.
create or replace function storage.search_by_name(
    p_bucket_id text,
    p_prefix text,
    p_search text,
    p_offset integer,
    p_limit integer,
    p_is_descending boolean
)
returns table (
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
)
language plpgsql
stable
set enable_sort = off
as $$
declare
    last_character constant text := chr(1114111);
    beginning constant text := lower(p_prefix || p_search);
    low text := beginning;
    high text := beginning || last_character;
    rows_to_skip integer := p_offset;
    rows_left integer := p_limit;
    level refcursor;
    object record;
    folder text;
begin
    while rows_left is null or rows_left > 0 loop
        if p_is_descending then
            open level no scroll for
                select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata
                from storage.objects o
                where o.bucket_id = p_bucket_id
                  and lower(o.name) collate "C" >= low
                  and lower(o.name) collate "C" < high
                order by lower(o.name) collate "C" desc;
        else
            open level no scroll for
                select o.name, o.id, o.updated_at, o.created_at, o.last_accessed_at, o.metadata
                from storage.objects o
                where o.bucket_id = p_bucket_id
                  and lower(o.name) collate "C" >= low
                  and lower(o.name) collate "C" < high
                order by lower(o.name) collate "C";
        end if;

        folder := null;
        while folder is null and (rows_left is null or rows_left > 0) loop
            fetch level into object;
            exit when not found;

            folder := storage.get_common_prefix(lower(object.name), beginning, '/');
            if rows_to_skip > 0 then
                rows_to_skip := rows_to_skip - 1;
                continue;
            end if;

            if folder is null then
                name := substr(object.name, length(p_prefix) + 1);
                id := object.id;
                updated_at := object.updated_at;
                created_at := object.created_at;
                last_accessed_at := object.last_accessed_at;
                metadata := object.metadata;
            else
                if p_is_descending then
                    select o.name
                    into object
                    from storage.objects o
                    where o.bucket_id = p_bucket_id
                      and lower(o.name) collate "C" >= folder
                      and lower(o.name) collate "C" < folder || last_character
                    order by lower(o.name) collate "C"
                    limit 1;
                end if;
                name := substr(left(object.name, length(folder) - 1), length(p_prefix) + 1);
                id := null;
                updated_at := null;
                created_at := null;
                last_accessed_at := null;
                metadata := null;
            end if;
            return next;
            rows_left := rows_left - 1;
        end loop;
        close level;

        exit when folder is null;
        if p_is_descending then
            high := folder;
        else
            low := folder || last_character;
        end if;
    end loop;
end
$$;

-- Sorted by name, folders and files are one sequence. Sorted by a time, which folders do not have,
-- they come first, by name; this reads the whole level, though nothing inside its folders.
create or replace function storage.search(
    prefix text,
    bucketname text,
    limits integer default 100,
    levels integer default 1,
    offsets integer default 0,
    search text default '',
    sortcolumn text default 'name',
    sortorder text default 'asc'
)
returns table (
    name text,
    id uuid,
    updated_at timestamptz,
    created_at timestamptz,
    last_accessed_at timestamptz,
    metadata jsonb
)
language plpgsql
stable
as $$
declare
    most_rows constant integer := least(greatest(coalesce(limits, 100), 0), 1500);
    rows_to_skip constant integer := greatest(coalesce(offsets, 0), 0);
    is_descending constant boolean := lower(coalesce(sortorder, 'asc')) = 'desc';
    sort_column constant text := lower(coalesce(sortcolumn, 'name'));
begin
    if sort_column in ('updated_at', 'created_at', 'last_accessed_at') then
        return query
        select l.name, l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
        from storage.search_by_name(
            bucketname, coalesce(prefix, ''), coalesce(search, ''), 0, null, is_descending
        ) with ordinality as l (
            name, id, updated_at, created_at, last_accessed_at, metadata, place
        )
        cross join lateral (
            select case sort_column
                when 'updated_at' then l.updated_at
                when 'created_at' then l.created_at
                else l.last_accessed_at
            end as at
        ) chosen
        order by
            l.id is not null,
            case when l.id is null and not is_descending then lower(l.name) end collate "C",
            case when l.id is null and is_descending then lower(l.name) end collate "C" desc,
            case when not is_descending then chosen.at end,
            case when is_descending then chosen.at end desc,
            l.place
        limit most_rows
        offset rows_to_skip;
    else
        return query
        select l.name, l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
        from storage.search_by_name(
            bucketname, coalesce(prefix, ''), coalesce(search, ''),
            rows_to_skip, most_rows, is_descending
        ) l;
    end if;
end
$$;

grant execute on function
    storage.search_by_name(text, text, text, integer, integer, boolean),
    storage.search(text, text, integer, integer, integer, text, text, text)
to postgres, anon, authenticated, service_role;

reset role;
