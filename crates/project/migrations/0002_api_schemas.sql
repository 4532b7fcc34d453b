-- What users' migrations create in `public` is reachable by the API roles at once; row level
-- security decides about the rows. The grants are those of the hosted service.
alter schema public owner to postgres;
grant usage on schema public to anon, authenticated, service_role;

create schema if not exists graphql_public authorization postgres;
grant usage on schema graphql_public to anon, authenticated, service_role;

do $$
declare
    creator text;
    exposed text;
begin
    foreach creator in array array['postgres', current_user] loop
        foreach exposed in array array['public', 'graphql_public'] loop
            execute format('alter default privileges for role %I in schema %I grant all on tables '
                'to postgres, anon, authenticated, service_role', creator, exposed);
            execute format('alter default privileges for role %I in schema %I grant all on sequences '
                'to postgres, anon, authenticated, service_role', creator, exposed);
            execute format('alter default privileges for role %I in schema %I grant all on routines '
                'to postgres, anon, authenticated, service_role', creator, exposed);
        end loop;
    end loop;
end
$$;
