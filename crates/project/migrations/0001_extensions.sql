-- Extensions live in a schema of their own, as on the hosted service, so that `public` holds
-- nothing but the user's objects. pgcrypto and uuid-ossp are there from the start; a cluster
-- without the contrib modules simply lacks them. The others that migrations commonly ask for
-- (citext, pg_trgm) are trusted: `create extension` by `postgres` is enough.
create schema if not exists extensions authorization postgres;
grant usage on schema extensions to anon, authenticated, service_role;
grant all on schema extensions to dashboard_user;

do $$
declare
    wanted text;
begin
    foreach wanted in array array['pgcrypto', 'uuid-ossp'] loop
        if exists (select from pg_available_extensions where name = wanted) then
            execute format('create extension if not exists %I with schema extensions', wanted);
        end if;
    end loop;
end
$$;
