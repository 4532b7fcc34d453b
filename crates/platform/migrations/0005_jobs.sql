-- Long work goes on in the background and can be asked about (console contract F90). A branch
-- says how it was copied. One in the trash, or one that failed, leaves its name to others.
create table platform.jobs (
    id uuid primary key default gen_random_uuid(),
    kind text not null,
    project text,
    state text not null default 'running'
        check (state in ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    done bigint not null default 0,
    total bigint not null default 0,
    unit text not null default '',
    message text not null default '',
    error text,
    created_by text,
    created_at timestamptz not null default now(),
    started_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    finished_at timestamptz
);

create index jobs_project on platform.jobs (project);

alter table platform.branches
    add column is_live boolean not null default true,
    add column copy_method text check (copy_method in ('copied', 'dumped')),
    add column copy_reason text,
    add column failure text,
    add column job uuid;

update platform.branches b
set is_live = false
from platform.projects p
where p.ref = b.ref and p.status = 'REMOVED';

alter table platform.branches drop constraint branches_parent_ref_name_key;
create unique index branches_live_name on platform.branches (parent_ref, name) where is_live;

create function platform.keep_branch_name() returns trigger
language plpgsql
as $$
begin
    update platform.branches set is_live = new.status <> 'REMOVED' where ref = new.ref;
    return null;
end
$$;

create trigger keep_branch_name after update of status on platform.projects
    for each row execute function platform.keep_branch_name();
