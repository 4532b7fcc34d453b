-- The audit log, and two tables for other programs: `instances` is unused, but restored dumps
-- mention it, and tools read the newest version from `schema_migrations` to detect the shape of the
-- schema. Plinth's own ledger of migrations is elsewhere.

set local role supabase_auth_admin;

create table auth.audit_log_entries (
  instance_id uuid,
  id uuid not null,
  payload json,
  created_at timestamptz,
  ip_address varchar(64) not null default '',
  constraint audit_log_entries_pkey primary key (id)
);
comment on table auth.audit_log_entries is 'Who did what to which account.';

create index audit_logs_instance_id_idx on auth.audit_log_entries (instance_id);

alter table auth.audit_log_entries enable row level security;

create table auth.instances (
  id uuid not null,
  uuid uuid,
  raw_base_config text,
  created_at timestamptz,
  updated_at timestamptz,
  constraint instances_pkey primary key (id)
);
comment on table auth.instances is 'Unused.';

alter table auth.instances enable row level security;

create table auth.schema_migrations (
  version varchar(255) not null,
  constraint schema_migrations_pkey primary key (version)
);
comment on table auth.schema_migrations is 'The shape of this schema, in the numbers tools know.';

insert into auth.schema_migrations (version) values ('20260625000000');

alter table auth.schema_migrations enable row level security;
