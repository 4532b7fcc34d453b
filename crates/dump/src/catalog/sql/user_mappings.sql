-- User mappings with their secrets.
select 'pg_user_mapping'::regclass::oid as class, m.umid as object,
       format('%I on %I', m.usename, m.srvname) as name, null::oid as relation,
       format('create user mapping for %s server %I%s;',
              case when m.umuser = 0 then 'public' else quote_ident(m.usename) end, m.srvname,
              (select format(' options (%s)', string_agg(format('%I %L', o.option_name, o.option_value), ', '))
               from pg_options_to_table(m.umoptions) o having count(*) > 0)) as sql
from pg_user_mappings m
where m.umid >= 16384
