-- SQL that operators keep (console contract N75), and rows that imports left out. A snippet without a
-- project would belong to nobody, so snippets go with their project's row; so do favourites with snippets.
create table platform.snippets (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    owner text not null,
    name text not null check (length(name) between 1 and 256),
    description text not null default '' check (length(description) <= 4096),
    folder text not null default '' check (length(folder) <= 1024),
    visibility text not null check (visibility in ('private', 'project')),
    sql text not null,
    version bigint not null default 1,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    updated_by text not null,
    words tsvector not null generated always as (
        setweight(to_tsvector('simple', left(name, 256)), 'A')
        || setweight(to_tsvector('simple', left(folder || ' ' || description, 8192)), 'B')
        || to_tsvector('simple', left(regexp_replace(sql, '[^[:alnum:]]+', ' ', 'g'), 100000))
    ) stored
);

create index snippets_project on platform.snippets (project, folder, name);
create index snippets_words on platform.snippets using gin (words);

-- What each operator has marked.
create table platform.snippet_favorites (
    snippet uuid not null references platform.snippets (id) on delete cascade,
    operator text not null,
    primary key (snippet, operator)
);

create table platform.import_rejects (
    job uuid primary key references platform.jobs (id) on delete cascade,
    rows bigint not null,
    csv text not null,
    created_at timestamptz not null default now()
);
