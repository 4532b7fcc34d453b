-- Publications, still without members.
select 'pg_publication'::regclass::oid as class, p.oid as object, p.pubname::text as name,
       null::oid as relation,
       format('create publication %1$I%2$s with (publish = %3$L, publish_via_partition_root = %4$L%5$s);
alter publication %1$I owner to %6$I;',
              p.pubname, case when p.puballtables then ' for all tables' end,
              concat_ws(', ', case when p.pubinsert then 'insert' end, case when p.pubupdate then 'update' end,
                        case when p.pubdelete then 'delete' end, case when p.pubtruncate then 'truncate' end),
              p.pubviaroot::text,
              case to_jsonb(p) ->> 'pubgencols' when 's' then ', publish_generated_columns = stored' end,
              pg_get_userbyid(p.pubowner)) as sql
from pg_publication p
where p.oid >= 16384
