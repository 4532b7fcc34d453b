-- Text search configurations with the dictionaries of each kind of token.
select 'pg_ts_config'::regclass::oid as class, c.oid as object,
       format('%I.%I', n.nspname, c.cfgname) as name, null::oid as relation,
       format('create text search configuration %1$I.%2$I (parser = %3$I.%4$I);
%5$salter text search configuration %1$I.%2$I owner to %6$I;',
              n.nspname, c.cfgname, pn.nspname, p.prsname,
              (select string_agg(
                          format(E'alter text search configuration %I.%I add mapping for %I with %s;\n',
                                 n.nspname, c.cfgname, t.alias, m.dictionaries),
                          '' order by t.tokid)
               from ts_token_type(c.cfgparser) t
               cross join lateral (
                   select string_agg(format('%I.%I', dn.nspname, d.dictname), ', ' order by x.mapseqno)
                              as dictionaries
                   from pg_ts_config_map x
                   join pg_ts_dict d on d.oid = x.mapdict
                   join pg_namespace dn on dn.oid = d.dictnamespace
                   where x.mapcfg = c.oid and x.maptokentype = t.tokid) m
               where m.dictionaries is not null),
              pg_get_userbyid(c.cfgowner)) as sql
from pg_ts_config c
join pg_namespace n on n.oid = c.cfgnamespace
join pg_ts_parser p on p.oid = c.cfgparser
join pg_namespace pn on pn.oid = p.prsnamespace
where c.oid >= 16384
