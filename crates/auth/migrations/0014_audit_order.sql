-- The audit log is read newest first and grows with every sign-in: without an index, its first page
-- would scan all of it. Rows arrive in this order, so maintaining the index costs little.

set local role supabase_auth_admin;

create index audit_log_entries_created_at_idx on auth.audit_log_entries (created_at desc);
