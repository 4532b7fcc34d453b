-- The schema and its privileges.
--
-- Everything in `auth` belongs to `supabase_auth_admin`, so each migration works as that role. The
-- privileges of the others are default privileges, declared before the first table exists: no table
-- can be created without them, now or later.
--
-- The API roles may use the schema, because policies call its helper functions, but have no
-- privilege on any table. `postgres` runs users' own migrations: they create triggers on
-- `auth.users`, reference it, seed it, and grant single privileges, hence the grant option.

create schema if not exists auth authorization supabase_auth_admin;

-- An empty schema of another owner may exist already, e.g. from a restored dump.
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
