-- Who may do what: users of project zero with a role on the whole instance, in an organization or on one
-- project. A token that a user made acts with that user's rights; one without a user was made over the
-- control socket.
create table platform.instance (
    is_only boolean primary key default true check (is_only),
    name text not null default 'Plinth' check (char_length(name) between 1 and 256),
    set_up_at timestamptz
);

insert into platform.instance default values;

-- One-time links for the set-up, by the hash of their token.
create table platform.setup_links (
    hash text primary key,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null
);

create table platform.members (
    id uuid primary key default gen_random_uuid(),
    organization text references platform.organizations (slug) on delete cascade,
    project text references platform.projects (ref) on delete cascade,
    user_id uuid not null,
    role text not null check (role in ('owner', 'admin', 'developer', 'editor', 'reader')),
    created_at timestamptz not null default now(),
    created_by text,
    -- Neither: the whole instance.
    check (organization is null or project is null),
    unique nulls not distinct (organization, project, user_id)
);

create index members_user on platform.members (user_id);
create index members_project on platform.members (project) where project is not null;

create table platform.invitations (
    id uuid primary key default gen_random_uuid(),
    organization text references platform.organizations (slug) on delete cascade,
    project text references platform.projects (ref) on delete cascade,
    email text not null check (char_length(email) between 3 and 254),
    role text not null check (role in ('owner', 'admin', 'developer', 'editor', 'reader')),
    hash text not null unique,
    inviter uuid,
    token uuid references platform.tokens (id),
    created_by text,
    created_at timestamptz not null default now(),
    expires_at timestamptz not null,
    accepted_at timestamptz,
    accepted_by uuid,
    revoked_at timestamptz,
    check (organization is null or project is null)
);

create unique index invitations_pending on platform.invitations (organization, project, email)
    nulls not distinct
    where accepted_at is null and revoked_at is null;

create index tokens_user on platform.tokens (user_id) where user_id is not null;

alter table platform.audit
    add column organization text,
    add column user_id uuid,
    add column token text,
    add column before jsonb,
    add column after jsonb,
    add column is_denied boolean not null default false;

create index audit_project on platform.audit (project, id desc);
create index audit_organization on platform.audit (organization, id desc)
    where organization is not null;
