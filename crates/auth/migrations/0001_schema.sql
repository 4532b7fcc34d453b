-- The schema and who may do what in it.
--
-- Everything in `auth` belongs to `supabase_auth_admin`, so each file of this folder works as that
-- role. The rights of the others are default privileges, declared before the first table exists:
-- no table can be created without them, now or later.
--
-- The API roles may enter the schema, because policies call its helper functions, but hold no right
-- on any table. `postgres` runs people's own migrations: they hang triggers on `auth.users`,
-- reference it, seed it, and pass single rights on, hence the grant option.

create schema if not exists auth authorization supabase_auth_admin;

-- An empty schema of another owner may be there already, as a restored dump leaves it.
alter schema auth owner to supabase_auth_admin;

set local role supabase_auth_admin;

grant usage on schema auth to anon, authenticated, service_role, postgres;
grant all on schema auth to dashboard_user;

alter default privileges in schema auth
  grant all on tables to postgres with grant option;
alter default privileges in schema auth
  grant all on tables to dashboard_user;
alter default privileges in schema auth
  grant all on sequences to postgres, dashboard_user;
alter default privileges in schema auth
  grant all on routines to postgres, dashboard_user;
