-- Event triggers.
select 'pg_event_trigger'::regclass::oid as class, e.oid as object, e.evtname::text as name,
       null::oid as relation,
       concat(
           format(E'create event trigger %I on %s%s execute function %s();\n', e.evtname, e.evtevent,
                  (select format(' when tag in (%s)', string_agg(quote_literal(tag), ', '))
                   from unnest(e.evttags) tag having count(*) > 0),
                  e.evtfoid::regproc),
           case when e.evtenabled <> 'O' then
                format(E'alter event trigger %I %s;\n', e.evtname,
                       case e.evtenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end) end,
           format('alter event trigger %I owner to %I;', e.evtname, pg_get_userbyid(e.evtowner))) as sql
from pg_event_trigger e
where e.oid >= 16384
