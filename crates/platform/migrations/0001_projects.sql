-- Who is hosted here. The platform's own project is one of the rows, and so is the default one.
-- Secrets stand sealed with the instance key: a dump alone never yields them.
create schema if not exists platform;
revoke all on schema platform from public;

create table platform.organizations (
    slug text primary key check (slug ~ '^[a-z0-9-]{1,64}$'),
    name text not null check (char_length(name) between 1 and 256),
    created_at timestamptz not null default now()
);

insert into platform.organizations (slug, name) values ('default', 'Default');

create table platform.projects (
    ref text primary key check (ref ~ '^[a-z]{20}$'),
    organization text not null default 'default' references platform.organizations (slug),
    name text not null check (char_length(name) between 1 and 256),
    database text not null unique,
    kind text not null default 'ordinary' check (kind in ('platform', 'default', 'ordinary')),
    status text not null
        check (status in ('COMING_UP', 'ACTIVE_HEALTHY', 'INACTIVE', 'REMOVED')),
    region_label text not null default 'local',
    created_at timestamptz not null default now(),
    paused_at timestamptz,
    deleted_at timestamptz,
    sealed_owner_password text not null,
    sealed_authenticator_password text not null,
    sealed_service_password text not null,
    sealed_jwt_secret text not null,
    legacy_keys_enabled boolean not null default true,
    settings jsonb not null default '{}',
    version integer not null default 1
);

create unique index projects_one_of_a_kind on platform.projects (kind) where kind <> 'ordinary';

create table platform.branches (
    id uuid primary key default gen_random_uuid(),
    ref text not null unique references platform.projects (ref) on delete cascade,
    parent_ref text not null references platform.projects (ref),
    name text not null check (char_length(name) between 1 and 256),
    git_branch text,
    persistent boolean not null default false,
    with_data boolean not null default true,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (parent_ref, name)
);
