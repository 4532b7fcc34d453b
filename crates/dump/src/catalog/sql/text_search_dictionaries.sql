-- Text search dictionaries; their options are stored as they are written.
select 'pg_ts_dict'::regclass::oid as class, d.oid as object,
       format('%I.%I', n.nspname, d.dictname) as name, null::oid as relation,
       format('create text search dictionary %1$I.%2$I (template = %3$I.%4$I%5$s);
alter text search dictionary %1$I.%2$I owner to %6$I;',
              n.nspname, d.dictname, tn.nspname, t.tmplname, ', ' || d.dictinitoption,
              pg_get_userbyid(d.dictowner)) as sql
from pg_ts_dict d
join pg_namespace n on n.oid = d.dictnamespace
join pg_ts_template t on t.oid = d.dicttemplate
join pg_namespace tn on tn.oid = t.tmplnamespace
where d.oid >= 16384
