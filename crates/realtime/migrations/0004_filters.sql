-- Comparing values as a subscription to row changes asks for it: the types that describe a filter and
-- a changed row, and the functions that decide with the operators of the column's own type.

set local role supabase_realtime_admin;

do $$
begin
    if to_regtype('realtime.action') is null then
        create type realtime.action as enum ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'ERROR');
    end if;
    if to_regtype('realtime.equality_op') is null then
        create type realtime.equality_op as enum (
            'eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'in',
            'like', 'ilike', 'is', 'match', 'imatch', 'isdistinct'
        );
    end if;
    if to_regtype('realtime.user_defined_filter') is null then
        create type realtime.user_defined_filter as (
            column_name text,
            op realtime.equality_op,
            value text,
            negate boolean
        );
    end if;
    if to_regtype('realtime.wal_column') is null then
        create type realtime.wal_column as (
            name text,
            type_name text,
            type_oid oid,
            value jsonb,
            is_pkey boolean,
            is_selectable boolean
        );
    end if;
    if to_regtype('realtime.wal_rls') is null then
        create type realtime.wal_rls as (
            wal jsonb,
            is_rls_enabled boolean,
            subscription_ids uuid[],
            errors text[]
        );
    end if;
end
$$;

-- Said to be immutable although roles come and go, because a generated column asks for it.
create or replace function realtime.to_regrole(role_name text)
returns regrole
language sql
immutable
as $$
    select quote_ident(role_name)::regrole
$$;

-- The value as a change message shows it. Bytes stay the text they are: as JSON they would get the
-- \x in front that messages leave out.
create or replace function realtime.cast(val text, type_ regtype)
returns jsonb
language plpgsql
immutable
as $$
declare
    result jsonb;
begin
    if type_ = 'bytea'::regtype then
        return to_jsonb(val);
    end if;
    execute format('select to_jsonb(%L::%s)', val, type_) into result;
    return result;
end
$$;

-- Whether `val_1 <op> val_2` holds for two values of the type; null when either side leaves it open.
create or replace function realtime.check_equality_op(
    op realtime.equality_op,
    type_ regtype,
    val_1 text,
    val_2 text,
    negate boolean
)
returns boolean
language plpgsql
stable
as $$
declare
    comparison text;
    result boolean;
begin
    if op = 'is' and (val_2 is null or val_2 not in ('null', 'true', 'false', 'unknown')) then
        raise exception 'invalid value for is filter: must be null, true, false, or unknown';
    end if;

    comparison := case op
        when 'eq' then format('= %L::%s', val_2, type_)
        when 'neq' then format('<> %L::%s', val_2, type_)
        when 'lt' then format('< %L::%s', val_2, type_)
        when 'lte' then format('<= %L::%s', val_2, type_)
        when 'gt' then format('> %L::%s', val_2, type_)
        when 'gte' then format('>= %L::%s', val_2, type_)
        when 'in' then format('= any (%L::%s[])', val_2, type_)
        when 'like' then format('like %L', val_2)
        when 'ilike' then format('ilike %L', val_2)
        when 'match' then format('~ %L', val_2)
        when 'imatch' then format('~* %L', val_2)
        when 'is' then format('is %s', val_2)
        when 'isdistinct' then format('is distinct from %L::%s', val_2, type_)
    end;
    execute format('select (%L::%s) %s', val_1, type_, comparison) into result;
    return case when negate then not result else result end;
end
$$;

create or replace function realtime.check_equality_op(
    op realtime.equality_op,
    type_ regtype,
    val_1 text,
    val_2 text
)
returns boolean
language sql
stable
as $$
    select realtime.check_equality_op(op, type_, val_1, val_2, false)
$$;

-- All filters must hold. One whose column is not part of the change, or whose result is null, does
-- not: what cannot be decided is not delivered.
create or replace function realtime.is_visible_through_filters(
    columns realtime.wal_column[],
    filters realtime.user_defined_filter[]
)
returns boolean
language sql
stable
as $$
    select not exists (
        select
        from unnest(filters) f
        left join unnest(columns) c on c.name = f.column_name
        where c.name is null
           or not coalesce(
               realtime.check_equality_op(
                   f.op,
                   coalesce(c.type_oid::regtype, c.type_name::regtype),
                   c.value #>> '{}',
                   f.value,
                   coalesce(f.negate, false)
               ),
               false
           )
    )
$$;

reset role;
