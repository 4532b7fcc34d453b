-- Tests of policies that operators keep (console contract N82). Subject and test are what was sent; what is
-- not meant for SQL is kept as it is.
create table platform.policy_cases (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    name text not null check (length(name) between 1 and 256),
    subject jsonb not null,
    test jsonb not null,
    decision text not null
        check (decision in ('allowed', 'denied_by_grant', 'denied_by_policy', 'failed')),
    affected bigint check (affected >= 0),
    created_by text not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (project, name)
);
