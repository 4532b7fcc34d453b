-- The REST service has a schema cache in memory. These triggers notify it when the cache is stale,
-- so that a table can be asked for as soon as it is made. A notification is sent when the
-- transaction commits, and one suffices however much the transaction does.

create function plinth.announce_schema_change()
returns event_trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select 1
    from pg_event_trigger_ddl_commands()
    where schema_name is distinct from 'pg_temp'
  ) then
    notify pgrst, 'reload schema';
  end if;
end;
$$;

create function plinth.announce_drop()
returns event_trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select 1
    from pg_event_trigger_dropped_objects()
    where not is_temporary
  ) then
    notify pgrst, 'reload schema';
  end if;
end;
$$;

-- Only a superuser may make event triggers. On a server that gives us none, clients see new
-- tables after a NOTIFY of their own, or on their first request that misses them.
do $$
begin
  create event trigger plinth_schema_change
    on ddl_command_end
    when tag in (
      'CREATE SCHEMA', 'ALTER SCHEMA',
      'CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'ALTER TABLE',
      'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'IMPORT FOREIGN SCHEMA',
      'CREATE VIEW', 'ALTER VIEW',
      'CREATE MATERIALIZED VIEW', 'ALTER MATERIALIZED VIEW',
      'CREATE FUNCTION', 'ALTER FUNCTION', 'CREATE AGGREGATE', 'ALTER AGGREGATE',
      'CREATE TYPE', 'ALTER TYPE', 'CREATE DOMAIN', 'ALTER DOMAIN',
      'CREATE CAST', 'CREATE TRIGGER', 'ALTER TRIGGER', 'CREATE RULE', 'ALTER RULE',
      'CREATE EXTENSION', 'ALTER EXTENSION', 'COMMENT'
    )
    execute function plinth.announce_schema_change();
  create event trigger plinth_drop
    on sql_drop
    execute function plinth.announce_drop();
exception
  when insufficient_privilege then
    raise notice 'schema changes are not announced: event triggers need a superuser';
end;
$$;
