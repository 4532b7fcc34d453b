-- Standalone auth runs with the privileges of its own tables. It may read the ledger of migrations, to
-- report that the schema is older than the program instead of failing later.

grant select on plinth.migrations to supabase_auth_admin;
