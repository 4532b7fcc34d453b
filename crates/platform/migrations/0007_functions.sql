-- Functions that were deployed, with the sources of the versions that are kept, and the secrets
-- that they receive. A version is what one deployment brought: sources and settings. It is active
-- when requests go to it, so going back to an older one takes nothing but its number. Secrets
-- stand sealed; the digest is what may be shown of them.
create table platform.functions (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    slug text not null check (slug ~ '^[A-Za-z][A-Za-z0-9_-]{0,127}$'),
    last_version integer not null,
    active_version integer,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (project, slug)
);

create table platform.function_versions (
    function uuid not null references platform.functions (id) on delete cascade,
    version integer not null,
    name text not null,
    verify_jwt boolean not null,
    entrypoint text not null,
    import_map text,
    static_patterns text[] not null,
    digest text not null,
    created_at timestamptz not null default now(),
    activated_at timestamptz,
    primary key (function, version)
);

alter table platform.functions
    add foreign key (id, active_version) references platform.function_versions (function, version)
    deferrable initially deferred;

create table platform.function_files (
    function uuid not null,
    version integer not null,
    path text not null,
    content bytea not null,
    primary key (function, version, path),
    foreign key (function, version) references platform.function_versions (function, version)
        on delete cascade
);

create table platform.secrets (
    project text not null references platform.projects (ref) on delete cascade,
    name text not null,
    sealed_value text not null,
    digest text not null,
    updated_at timestamptz not null default now(),
    primary key (project, name)
);
