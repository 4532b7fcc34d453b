-- Events tell open consoles what changed (console contract F91). The latest ones are kept, so that a
-- stream that broke goes on where it stopped, also after a restart. Jobs get what a queue, a result, a
-- cancellation and a resumption after a restart need (F90).
create table platform.events (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    type text not null,
    project text,
    data jsonb not null default '{}'
);

-- Readers ask for what follows an id, so ids must become visible in their order: the lock makes the
-- ids of concurrent transactions follow the order of their commits.
create function platform.publish_event(event_type text, project_ref text, details jsonb) returns bigint
language plpgsql
as $$
declare
    event_id bigint;
begin
    perform pg_advisory_xact_lock(7305820114271966);
    insert into platform.events (at, type, project, data)
    values (clock_timestamp(), event_type, project_ref, coalesce(details, '{}'))
    returning id into event_id;
    if event_id % 100 = 0 then
        delete from platform.events
        where id <= (select e.id from platform.events e order by e.id desc offset 1000 limit 1);
    end if;
    perform pg_notify('plinth_platform', 'event ' || event_id);
    return event_id;
end
$$;

alter table platform.jobs
    add column input jsonb,
    add column result jsonb,
    add column node uuid,
    add column attempts integer not null default 0,
    add column cancel_requested boolean not null default false,
    alter column started_at drop not null,
    alter column started_at drop default;

create index jobs_latest on platform.jobs (created_at desc, id desc);
create index jobs_unfinished on platform.jobs (updated_at) where state in ('queued', 'running');
