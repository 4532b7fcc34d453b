-- Who subscribes to the changes of which table. A row is checked when it is written, so that the
-- subscriber gets an error for a wrong column, operator or value, before the first change arrives.

set local role supabase_realtime_admin;

create table if not exists realtime.subscription (
    id bigint not null generated always as identity,
    subscription_id uuid not null,
    entity regclass not null,
    filters realtime.user_defined_filter[] not null default '{}',
    claims jsonb not null,
    claims_role regrole not null
        generated always as (realtime.to_regrole(claims ->> 'role')) stored,
    created_at timestamp not null default timezone('utc', now()),
    action_filter text default '*' check (action_filter in ('*', 'INSERT', 'UPDATE', 'DELETE')),
    selected_columns text[],
    constraint pk_subscription primary key (id)
);

create index if not exists ix_realtime_subscription_entity
    on realtime.subscription (entity);
create unique index if not exists subscription_subscription_id_entity_filters_action_filter_selec
    on realtime.subscription
        (subscription_id, entity, filters, action_filter, coalesce(selected_columns, '{}'));

-- Whether a column of the type can stand on the left of a pattern operator. Postgres itself is
-- asked, by planning the comparison, for it also finds operators through casts and domains.
create or replace function realtime.has_pattern_operator(column_type regtype, operator text)
returns boolean
language plpgsql
stable
as $$
begin
    execute format('select null::%s operator(pg_catalog.%s) ''''', column_type, operator);
    return true;
exception
    when undefined_function or ambiguous_function then
        return false;
end
$$;

-- Raises unless the filter makes sense for a column of the type.
create or replace function realtime.check_filter(
    filter realtime.user_defined_filter,
    column_type regtype
)
returns void
language plpgsql
stable
as $$
declare
    pattern_operator constant text := case filter.op
        when 'like' then '~~'
        when 'ilike' then '~~*'
        when 'match' then '~'
        when 'imatch' then '~*'
    end;
    value_count integer;
begin
    if filter.op = 'is' then
        if filter.value is null or filter.value not in ('null', 'true', 'false', 'unknown') then
            raise exception 'invalid value for is filter: must be null, true, false, or unknown';
        elsif filter.value <> 'null' and column_type <> 'boolean'::regtype then
            raise exception 'is % filter requires a boolean column, got %', filter.value, column_type;
        end if;
    elsif filter.op = 'in' then
        execute format('select cardinality(%L::%s[])', filter.value, column_type) into value_count;
        if value_count > 100 then
            raise exception 'too many values for `in` filter. Maximum 100';
        end if;
    elsif pattern_operator is null then
        execute format('select %L::%s', filter.value, column_type);
    elsif not realtime.has_pattern_operator(column_type, pattern_operator) then
        raise exception 'operator % requires a text-compatible column type, got %',
            filter.op, column_type;
    elsif filter.op in ('match', 'imatch') then
        begin
            perform '' ~ filter.value;
        exception
            when others then
                raise exception 'invalid regular expression for % filter: %', filter.op, sqlerrm;
        end;
    end if;
end
$$;

create or replace function realtime.subscription_check_filters()
returns trigger
language plpgsql
as $$
declare
    readable_columns constant jsonb := (
        select coalesce(jsonb_object_agg(a.attname, a.atttypid), '{}')
        from pg_catalog.pg_attribute a
        where a.attrelid = new.entity
          and a.attnum > 0
          and not a.attisdropped
          and has_column_privilege(new.claims ->> 'role', a.attrelid, a.attnum, 'SELECT')
    );
    filter realtime.user_defined_filter;
    selected_column text;
begin
    foreach filter in array coalesce(new.filters, '{}') loop
        if not coalesce(readable_columns ? filter.column_name, false) then
            raise exception 'invalid column for filter %', filter.column_name;
        end if;
        perform realtime.check_filter(
            filter, (readable_columns ->> filter.column_name)::oid::regtype
        );
    end loop;

    foreach selected_column in array coalesce(new.selected_columns, '{}') loop
        if not coalesce(readable_columns ? selected_column, false) then
            raise exception 'invalid column for select %', selected_column;
        end if;
    end loop;

    -- One order for the same wishes, so that the unique index sees through a different one.
    new.filters := array(
        select row(f.column_name, f.op, f.value, coalesce(f.negate, false))::realtime.user_defined_filter
        from unnest(new.filters) f
        order by f.column_name, f.op, f.value, coalesce(f.negate, false)
    );
    new.selected_columns := (select array_agg(c order by c) from unnest(new.selected_columns) c);
    return new;
end
$$;

create or replace trigger tr_check_filters
    before insert or update on realtime.subscription
    for each row execute function realtime.subscription_check_filters();

grant select on realtime.subscription to anon, authenticated, service_role;

reset role;
