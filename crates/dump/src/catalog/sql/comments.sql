-- Comments.
with described as (
    select d.classoid as class, d.objoid as object, d.objsubid, d.description, i.type, i.identity
    from pg_description d
    cross join lateral pg_identify_object(d.classoid, d.objoid, d.objsubid) i
    where (d.objoid >= 16384
           or (d.classoid = 'pg_namespace'::regclass and d.objoid = (select oid from pg_namespace where nspname = 'public'))
           or d.classoid = 'pg_largeobject'::regclass)
      and i.identity is not null
)
select class, object, format('%s %s', type, identity) as name, null::oid as relation,
       format('comment on %s is %L;',
              case when type like '%column' then 'column ' || identity
                   when type in ('function', 'procedure', 'aggregate') then 'routine ' || identity
                   when type = 'table constraint' then 'constraint ' || identity
                   when type = 'domain constraint'
                       then (select format('constraint %I on domain %s', k.conname, format_type(k.contypid, null))
                             from pg_constraint k where k.oid = object)
                   when type = 'foreign-data wrapper' then 'foreign data wrapper ' || identity
                   when type = 'statistics object' then 'statistics ' || identity
                   else type || ' ' || identity end,
              description) as sql
from described
