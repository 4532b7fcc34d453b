-- Pairs of keys for clients of the S3 protocol. A signature is checked with the secret itself, so it
-- is kept sealed, not hashed.
create table platform.s3_credentials (
    id uuid primary key default gen_random_uuid(),
    project text not null references platform.projects (ref) on delete cascade,
    access_key text not null unique,
    sealed_secret_key text not null,
    description text not null check (char_length(description) between 3 and 2000),
    claims jsonb not null,
    created_at timestamptz not null default now()
);

create index s3_credentials_project on platform.s3_credentials (project, created_at);

create trigger announce after insert or delete
    on platform.s3_credentials for each row execute function platform.announce_key();
