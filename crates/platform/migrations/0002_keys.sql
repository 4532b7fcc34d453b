-- Opaque API keys are found by their hash and shown again from their sealed form. Signing keys go
-- standby → in_use → previously_used → revoked; exactly one of a project's keys signs.
create table platform.api_keys (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    kind text not null check (kind in ('publishable', 'secret')),
    name text not null check (name ~ '^[a-z_][a-z0-9_]+$' and char_length(name) between 4 and 64),
    description text,
    prefix text not null,
    hash text not null unique,
    sealed_value text not null,
    secret_jwt_template jsonb,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    last_used_at timestamptz,
    revoked_at timestamptz
);

create unique index api_keys_live_name on platform.api_keys (project, kind, name)
    where revoked_at is null;

create table platform.signing_keys (
    id uuid primary key,
    project text not null references platform.projects (ref) on delete cascade,
    algorithm text not null,
    status text not null check (status in ('standby', 'in_use', 'previously_used', 'revoked')),
    public_jwk jsonb,
    sealed_jwk text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create unique index signing_keys_one_signs on platform.signing_keys (project)
    where status = 'in_use';
