-- Whether a caller may read from a private channel is asked of the select policies on
-- realtime.messages: rows of that channel are inserted, selected with the caller's role and claims,
-- and rolled back with the transaction. The caller may not insert them, so this function does it. Only
-- `authenticator` may call it, the role that requests start from before they become their caller; the
-- rows have no event, so that no subscriber would ever be notified of them.

grant usage on schema realtime to authenticator;

set local role supabase_realtime_admin;

create or replace function realtime.add_probes(topic text, ids uuid[], extensions text[])
returns void
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if not realtime.has_messages_today() then
        perform realtime.add_messages_today();
    end if;
    insert into realtime.messages (id, topic, extension)
    select probe.id, add_probes.topic, probe.extension
    from unnest(add_probes.ids, add_probes.extensions) as probe (id, extension);
end
$$;

revoke execute on function realtime.add_probes(text, uuid[], text[]) from public;
grant execute on function realtime.add_probes(text, uuid[], text[]) to authenticator;

reset role;
