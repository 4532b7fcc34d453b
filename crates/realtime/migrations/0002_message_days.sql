-- The daily partitions of realtime.messages, named messages_YYYY_MM_DD after their day in UTC.
--
-- The service keeps the days from yesterday to three days ahead and drops what is past its time. But
-- a project may be copied from a template made weeks ago, or be opened after a long time, and send a
-- message before the service has looked after it. Then realtime.send adds the missing day itself.
-- A default partition would catch such rows as well, but every later day would first have to be
-- searched for in it, and what it holds could only be deleted row by row.

set local role supabase_realtime_admin;

-- Adds one day unless it is there. A table is made beside and then attached, because that lets
-- others go on inserting, while creating it in place would lock them out until the transaction ends.
create or replace function realtime.add_messages_day(day date)
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    partition_name constant text := to_char(day::timestamp, '"messages_"YYYY_MM_DD');
begin
    if to_regclass('realtime.' || partition_name) is not null then
        return;
    end if;

    -- Whoever comes second waits for the first and then finds the day. This is the lock that
    -- attaching takes anyway; inserts pass it, and having it brings the catalogue up to date.
    lock table only realtime.messages in share update exclusive mode;
    if to_regclass('realtime.' || partition_name) is not null then
        return;
    end if;

    execute format(
        'create table realtime.%I (like realtime.messages including defaults including constraints)',
        partition_name
    );
    execute format('alter table realtime.%I enable row level security', partition_name);
    execute format(
        'alter table realtime.messages attach partition realtime.%I for values from (%L) to (%L)',
        partition_name, day::timestamp, (day + 1)::timestamp
    );
end
$$;

-- Asked before each message: looking is far cheaper than catching a failed insert, which costs a
-- subtransaction.
create or replace function realtime.has_messages_today()
returns boolean
language sql
stable
as $$
    select to_regclass(to_char(timezone('utc', now()), '"realtime.messages_"YYYY_MM_DD')) is not null
$$;

-- The only part of this that changes something and that callers of realtime.send may reach.
create or replace function realtime.add_messages_today()
returns void
language sql
security definer
set search_path = pg_catalog, pg_temp
as $$
    select realtime.add_messages_day(timezone('utc', now())::date)
$$;

-- What the service runs at start and every few hours. Dropping a day needs the whole table for a
-- moment; if it is locked, the day is left for the next run rather than have senders queue up.
create or replace function realtime.maintain_messages_days()
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
    today constant date := timezone('utc', now())::date;
    oldest_name constant text := to_char(
        timezone('utc', now()) - interval '72 hours', '"messages_"YYYY_MM_DD'
    );
    expired text;
begin
    for days_ahead in -1 .. 3 loop
        perform realtime.add_messages_day(today + days_ahead);
    end loop;

    for expired in
        select c.relname
        from pg_inherits i
        join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'realtime.messages'::regclass
          and c.relname ~ '^messages_\d{4}_\d{2}_\d{2}$'
          and c.relname < oldest_name
    loop
        begin
            execute format('drop table realtime.%I', expired);
        exception
            when lock_not_available then
                raise notice 'realtime.% is in use and will be dropped later', expired;
        end;
    end loop;
end
$$;

revoke execute on function
    realtime.add_messages_day(date),
    realtime.maintain_messages_days()
from public;
grant execute on function
    realtime.has_messages_today(),
    realtime.add_messages_today()
to postgres, anon, authenticated, service_role;

do $$
begin
    perform realtime.maintain_messages_days();
end
$$;

reset role;
