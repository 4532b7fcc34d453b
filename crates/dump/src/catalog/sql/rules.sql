-- Rules other than those that make a view.
select 'pg_rewrite'::regclass::oid as class, r.oid as object,
       format('%I.%I %I', n.nspname, c.relname, r.rulename) as name, c.oid as relation,
       concat(
           pg_get_ruledef(r.oid),
           case r.ev_enabled
                when 'D' then format(E'\nalter table %I.%I disable rule %I;', n.nspname, c.relname, r.rulename)
                when 'R' then format(E'\nalter table %I.%I enable replica rule %I;', n.nspname, c.relname, r.rulename)
                when 'A' then format(E'\nalter table %I.%I enable always rule %I;', n.nspname, c.relname, r.rulename) end) as sql
from pg_rewrite r
join pg_class c on c.oid = r.ev_class
join pg_namespace n on n.oid = c.relnamespace
where r.oid >= 16384 and r.rulename <> '_RETURN' and c.relpersistence <> 't'
