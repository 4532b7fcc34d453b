-- Operators who work as editors or readers touch tables whose defaults, triggers and views call the helper
-- functions. They have no privilege on any table of the schema. A standalone auth service has no such roles.

set local role supabase_auth_admin;

do $$
begin
  if exists (select from pg_catalog.pg_roles where rolname = 'plinth_editor') then
    grant usage on schema auth to plinth_editor, plinth_reader;
    grant execute on function auth.uid(), auth.role(), auth.email(), auth.jwt()
      to plinth_editor, plinth_reader;
  end if;
end
$$;
