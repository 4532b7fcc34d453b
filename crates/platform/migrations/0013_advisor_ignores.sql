-- What operators know about findings of the advisors: those that are ignored and why, and when each
-- was there. And of branches what their schema and the parent's were when they were the same, so that
-- it can be told what changed on which side.
create table platform.advisor_ignores (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    name text not null,
    cache_key text,
    reason text not null check (char_length(reason) between 1 and 1000),
    expires_at timestamptz,
    created_by text not null,
    created_at timestamptz not null default now()
);

-- Without a key all findings of a check are ignored.
create unique index advisor_ignores_one on platform.advisor_ignores (project, name, coalesce(cache_key, ''));

create table platform.advisor_findings (
    project text not null references platform.projects (ref) on delete cascade,
    cache_key text not null,
    name text not null,
    title text not null,
    level text not null,
    detail text not null,
    first_seen_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    resolved_at timestamptz,
    primary key (project, cache_key)
);

alter table platform.branches
    add column parent_base jsonb,
    add column branch_base jsonb,
    add column merged_at timestamptz;
