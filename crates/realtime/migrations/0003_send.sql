-- Broadcasting from SQL: functions that users call in their own functions and triggers.
--
-- They run with the caller's rights, so the insert policies on realtime.messages decide. A message
-- that cannot be sent must not undo the work that it notifies about: it ends as a warning.

set local role supabase_realtime_admin;

-- The channel that a policy on realtime.messages is being asked about.
create or replace function realtime.topic()
returns text
language sql
stable
as $$
    select nullif(current_setting('realtime.topic', true), '')
$$;

create or replace function realtime.send(
    payload jsonb,
    event text,
    topic text,
    private boolean default true
)
returns void
language plpgsql
as $$
declare
    message_id constant uuid := gen_random_uuid();
begin
    if jsonb_typeof(payload) = 'object' and not payload ? 'id' then
        payload := payload || jsonb_build_object('id', message_id);
    end if;
    perform set_config('realtime.topic', topic, true);
    if not realtime.has_messages_today() then
        perform realtime.add_messages_today();
    end if;
    insert into realtime.messages (id, payload, event, topic, private, extension)
    values (message_id, payload, event, topic, private, 'broadcast');
exception
    when others then
        raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$$;

create or replace function realtime.send_binary(
    payload bytea,
    event text,
    topic text,
    private boolean default true
)
returns void
language plpgsql
as $$
begin
    perform set_config('realtime.topic', topic, true);
    if not realtime.has_messages_today() then
        perform realtime.add_messages_today();
    end if;
    insert into realtime.messages (binary_payload, event, topic, private, extension)
    values (payload, event, topic, private, 'broadcast');
exception
    when others then
        raise warning 'WarnSendingBroadcastMessage: %', sqlerrm;
end
$$;

-- Meant for row triggers, which hand over their own NEW and OLD. Unlike send it raises, for a wrong
-- call is a mistake in the trigger and should show at once.
create or replace function realtime.broadcast_changes(
    topic_name text,
    event_name text,
    operation text,
    table_name text,
    table_schema text,
    new record,
    old record,
    level text default 'ROW'
)
returns void
language plpgsql
as $$
begin
    if level = 'STATEMENT' then
        raise exception 'function can only be triggered for each row, not for each statement';
    end if;
    if operation is null or operation not in ('INSERT', 'UPDATE', 'DELETE') then
        raise exception 'Unexpected operation type: %', operation;
    end if;

    perform realtime.send(
        jsonb_build_object(
            'old_record', old,
            'record', new,
            'operation', operation,
            'table', table_name,
            'schema', table_schema
        ),
        event_name,
        topic_name
    );
exception
    when others then
        raise exception 'Failed to process the row: %', sqlerrm;
end
$$;

grant execute on function
    realtime.topic(),
    realtime.send(jsonb, text, text, boolean),
    realtime.send_binary(bytea, text, text, boolean),
    realtime.broadcast_changes(text, text, text, text, text, record, record, text)
to postgres, anon, authenticated, service_role;

reset role;
