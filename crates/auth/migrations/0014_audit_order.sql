-- The audit trail is read newest first, and it grows with every sign-in: without an order to follow,
-- its first page would mean reading all of it. Rows arrive in this order, so keeping it costs little.

set local role supabase_auth_admin;

create index audit_log_entries_created_at_idx on auth.audit_log_entries (created_at desc);
