-- Objects that no statement here can make again, each as a sentence.
with members as (
    select classid, objid from pg_depend where deptype = 'e'
),
problems as (
    select 'pg_type'::regclass::oid as class, t.oid as object,
           format('base type %s was made outside of an extension', format_type(t.oid, null)) as sentence
    from pg_type t
    where t.oid >= 16384 and (t.typtype = 'b' or t.typtype = 'p')
      and not exists (select from pg_type e where e.typarray = t.oid)
    union all
    select 'pg_type'::regclass, t.oid,
           format('range type %s has a canonical function', format_type(t.oid, null))
    from pg_range r join pg_type t on t.oid = r.rngtypid
    where t.oid >= 16384 and r.rngcanonical <> 0
    union all
    select 'pg_language'::regclass, l.oid, format('language %I was made outside of an extension', l.lanname)
    from pg_language l where l.oid >= 16384
    union all
    select 'pg_ts_parser'::regclass, p.oid,
           format('text search parser %I was made outside of an extension', p.prsname)
    from pg_ts_parser p where p.oid >= 16384
    union all
    select 'pg_ts_template'::regclass, p.oid,
           format('text search template %I was made outside of an extension', p.tmplname)
    from pg_ts_template p where p.oid >= 16384
    union all
    select 'pg_operator'::regclass, o.oid, format('operator %s was announced but never made', o.oid::regoperator)
    from pg_operator o where o.oid >= 16384 and o.oprcode = 0
    union all
    -- Its owner could not make it again: it takes a superuser, and the owner is none.
    select 'pg_extension'::regclass, e.oid,
           format('extension %I belongs to %I, who may not create it', e.extname, pg_get_userbyid(e.extowner))
    from pg_extension e
    join pg_roles r on r.oid = e.extowner
    where e.oid >= 16384 and not r.rolsuper
      and exists (select from pg_available_extension_versions v
                  where v.name = e.extname and v.version = e.extversion and v.superuser and not v.trusted)
    union all
    -- Checking such a key would run the function of the cast in the administrator's session.
    select 'pg_constraint'::regclass, k.oid,
           format('foreign key %I compares its columns through a cast of one''s own', k.conname)
    from pg_constraint k
    cross join lateral unnest(k.conkey, k.confkey) as pair (here, there)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.here
    join pg_attribute b on b.attrelid = k.confrelid and b.attnum = pair.there
    join pg_cast c on c.castcontext = 'i' and c.castmethod = 'f'
     and (c.castsource in (a.atttypid, b.atttypid))
    where k.contype = 'f' and a.atttypid <> b.atttypid and c.oid >= 16384
      and not exists (select from members m
                      where m.classid = 'pg_cast'::regclass and m.objid = c.oid)
)
select distinct p.sentence
from problems p
where not exists (select from members m where m.classid = p.class and m.objid = p.object)
order by 1
