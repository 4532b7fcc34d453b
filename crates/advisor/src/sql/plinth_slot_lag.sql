-- Replication slots of this database that keep much WAL, or have lost it.
select null::text as schema, s.slot_name::text as name, 'replication slot' as type,
       case when s.wal_status = 'lost'
            then format('Replication slot %I has lost WAL that its reader needs.', s.slot_name)
            else format('Replication slot %I keeps %s of WAL%s.', s.slot_name,
                        pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn)),
                        case when s.active then '' else ', and nobody reads it' end) end as detail,
       case when not s.active then format('select pg_drop_replication_slot(%L);', s.slot_name) end as fix,
       jsonb_build_object('active', s.active, 'status', s.wal_status) as metadata, s.slot_name::text as key
from pg_replication_slots s
cross join given
where s.database = current_database() and not pg_is_in_recovery()
  and (s.wal_status = 'lost'
       or pg_wal_lsn_diff(pg_current_wal_lsn(), s.restart_lsn) >= (given.limits ->> 'slot_bytes')::numeric)
