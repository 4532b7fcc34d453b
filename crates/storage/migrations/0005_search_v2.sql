-- Listing below `/` in pages, by name or by time: what the second list endpoint returns.

set local role supabase_storage_admin;

-- By time a folder counts as created and updated when the oldest object in it was created, so the
-- times of everything below the prefix are read; only sorting by name skips.
--
-- A page begins behind the pair of time and name; times count in milliseconds, because that is what
-- a client can hand back.
create or replace function storage.search_by_timestamp(
    p_prefix text,
    p_bucket_id text,
    p_limit integer,
    p_level integer,
    p_start_after text,
    p_sort_order text,
    p_sort_column text,
    p_sort_column_after text
)
returns table (
    key text,
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
    is_descending constant boolean := lower(coalesce(p_sort_order, 'asc')) = 'desc';
    name_after constant text := coalesce(p_start_after, '');
    time_after constant timestamptz := coalesce(nullif(p_sort_column_after, ''), 'epoch');
begin
    return query
    with entries as (
        select
            l.name,
            l.id,
            coalesce(l.updated_at, oldest.created_at) as updated_at,
            coalesce(l.created_at, oldest.created_at) as created_at,
            l.last_accessed_at,
            l.metadata
        from storage.list_objects_with_delimiter(p_bucket_id, p_prefix, '/', 2147483647) l
        left join lateral (
            select min(o.created_at) as created_at
            from storage.objects o
            where o.bucket_id = p_bucket_id
              and o.name collate "C" >= l.name || '/'
              and o.name collate "C" < l.name || '/' || chr(1114111)
        ) oldest on l.id is null
    ),
    timed as (
        select e.*, coalesce(date_trunc('milliseconds', chosen.at), 'epoch') as sort_time
        from entries e
        cross join lateral (
            select case p_sort_column when 'updated_at' then e.updated_at else e.created_at end as at
        ) chosen
    )
    select
        split_part(t.name, '/', p_level),
        t.name, t.id, t.updated_at, t.created_at, t.last_accessed_at, t.metadata
    from timed t
    where name_after = ''
       or (not is_descending and (t.sort_time, t.name collate "C") > (time_after, name_after))
       or (is_descending and (t.sort_time, t.name collate "C") < (time_after, name_after))
    order by
        case when not is_descending then t.sort_time end,
        case when not is_descending then t.name end collate "C",
        case when is_descending then t.sort_time end desc,
        case when is_descending then t.name end collate "C" desc
    limit p_limit;
end
$$;

create or replace function storage.search_v2(
    prefix text,
    bucket_name text,
    limits integer default 100,
    levels integer default 1,
    start_after text default '',
    sort_order text default 'asc',
    sort_column text default 'name',
    sort_column_after text default ''
)
returns table (
    key text,
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
begin
    if lower(sort_column) in ('created_at', 'updated_at') then
        return query
        select t.key, t.name, t.id, t.updated_at, t.created_at, t.last_accessed_at, t.metadata
        from storage.search_by_timestamp(
            prefix, bucket_name, most_rows, levels, start_after,
            sort_order, lower(sort_column), sort_column_after
        ) t;
    else
        return query
        select
            split_part(l.name, '/', levels),
            l.name, l.id, l.updated_at, l.created_at, l.last_accessed_at, l.metadata
        from storage.list_objects_with_delimiter(
            bucket_name, prefix, '/', most_rows, start_after, '', sort_order
        ) l;
    end if;
end
$$;

grant execute on function
    storage.search_by_timestamp(text, text, integer, integer, text, text, text, text),
    storage.search_v2(text, text, integer, integer, text, text, text, text)
to postgres, anon, authenticated, service_role;

reset role;
