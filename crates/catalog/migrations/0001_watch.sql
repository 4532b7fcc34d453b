-- Lists of what is in the database are kept in memory (crates/catalog). These triggers tell when they
-- are outdated: whatever is made, changed or dropped, but for temporary things, which are nobody
-- else's. A notification is sent when the transaction commits, once.
create function plinth.announce_catalog_change()
returns event_trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (
    select from pg_event_trigger_ddl_commands() where schema_name is distinct from 'pg_temp'
  ) then
    notify plinth_catalog;
  end if;
end;
$$;

create function plinth.announce_catalog_drop()
returns event_trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from pg_event_trigger_dropped_objects() where not is_temporary) then
    notify plinth_catalog;
  end if;
end;
$$;

-- Only a superuser may make event triggers. On a server that gives us none, nothing is kept in memory.
do $$
begin
  create event trigger plinth_catalog_change
    on ddl_command_end
    execute function plinth.announce_catalog_change();
  create event trigger plinth_catalog_drop
    on sql_drop
    execute function plinth.announce_catalog_drop();
  -- Also in sessions that apply a replication or load a dump.
  alter event trigger plinth_catalog_change enable always;
  alter event trigger plinth_catalog_drop enable always;
exception
  when insufficient_privilege then
    raise notice 'changes of the catalog are not announced: event triggers need a superuser';
end;
$$;
