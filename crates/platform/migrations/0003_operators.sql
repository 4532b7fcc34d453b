-- Personal access tokens, stored as a hash and shown once, and the trail of what operators did.
-- A token without a user belongs to whoever runs the server: it was made over the control socket.
create table platform.tokens (
    id uuid primary key default gen_random_uuid(),
    hash text not null unique,
    user_id uuid,
    name text not null check (char_length(name) between 1 and 256),
    prefix text not null,
    scopes text[],
    projects text[],
    created_at timestamptz not null default now(),
    expires_at timestamptz,
    last_used_at timestamptz,
    revoked_at timestamptz
);

create table platform.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    actor text not null,
    project text,
    action text not null,
    target text,
    details jsonb,
    ip text,
    request_id text
);

create index audit_at on platform.audit (at desc);
