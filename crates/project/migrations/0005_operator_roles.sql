-- Operators who are editors or readers work as `plinth_editor` and `plinth_reader`: rows of the tables that
-- users made, no system schemas, no changes of the schema. Once only: what the owner of the project revokes
-- stays revoked, and new tables get the default privileges of `postgres`.
alter default privileges for role postgres grant usage on schemas to plinth_editor, plinth_reader;
alter default privileges for role postgres
    grant select, insert, update, delete on tables to plinth_editor;
alter default privileges for role postgres grant usage, select on sequences to plinth_editor;
alter default privileges for role postgres grant select on tables to plinth_reader;
alter default privileges for role postgres grant select on sequences to plinth_reader;

-- What a careless `security definer` function of a user finds in its place would run with its owner's rights. In
-- a database that others may connect to, PUBLIC keeps the right: it is not ours.
do $$
begin
    if exists (
        select from pg_catalog.pg_database d
        where d.datname = current_database() and d.datacl is not null
          and not exists (
            select from pg_catalog.aclexplode(d.datacl) a
            where a.grantee = 0 and a.privilege_type = 'CONNECT')
    ) then
        execute format('revoke temporary on database %I from public', current_database());
        execute format('grant temporary on database %I to anon, authenticated, service_role, authenticator, '
            'supabase_auth_admin, supabase_storage_admin, supabase_realtime_admin, plinth_storage',
            current_database());
    end if;
end
$$;

-- Types and functions that columns use.
grant usage on schema extensions to plinth_editor, plinth_reader;

do $$
declare
    target record;
    kind text;
    rights text;
begin
    for target in
        select n.oid, n.nspname
        from pg_catalog.pg_namespace n
        where n.nspname !~ '^pg_'
          and n.nspname not in (
            'information_schema', 'auth', 'storage', 'realtime', '_realtime', 'plinth', 'plinth_roles', 'platform',
            'extensions', 'supabase_migrations', 'supabase_functions', 'vault', 'cron', 'net', 'pgsodium',
            'pgsodium_masks', 'pgbouncer', 'graphql', '_analytics')
          and not exists (
            select from pg_catalog.pg_depend d
            where d.classid = 'pg_catalog.pg_namespace'::regclass and d.objid = n.oid and d.deptype = 'e')
    loop
        -- In a database that was there before, others may own objects.
        begin
            execute format('grant usage on schema %I to plinth_editor, plinth_reader', target.nspname);
            for kind, rights in
                select format('%s %I.%I',
                              case c.relkind when 'S' then 'sequence' else 'table' end,
                              target.nspname, c.relname),
                       case c.relkind when 'S' then 'usage, select' else 'select, insert, update, delete' end
                from pg_catalog.pg_class c
                where c.relnamespace = target.oid and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
            loop
                begin
                    execute format('grant %s on %s to plinth_editor', rights, kind);
                    execute format('grant select on %s to plinth_reader', kind);
                exception when insufficient_privilege then
                    null;
                end;
            end loop;
        exception when insufficient_privilege then
            null;
        end;
    end loop;
end
$$;
