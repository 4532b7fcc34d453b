-- What the replication stream carries: the tables whose changes users subscribe to, and the messages
-- of realtime.messages. The first starts empty and belongs to `postgres`, so that users may
-- add their tables; what is already there is left alone.

do $$
begin
    if not exists (select from pg_publication where pubname = 'supabase_realtime') then
        create publication supabase_realtime;
        alter publication supabase_realtime owner to postgres;
    end if;

    -- Only inserts are messages; there are no subscribers of the rest.
    if not exists (
        select from pg_publication where pubname = 'supabase_realtime_messages_publication'
    ) then
        create publication supabase_realtime_messages_publication
            for table realtime.messages
            with (publish = 'insert');
    end if;
end
$$;
