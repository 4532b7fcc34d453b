-- Secret keys in what everybody in the database can read: bodies of functions, arguments of triggers.
, texts as (
    select n.nspname, p.proname as name, 'function' as type, i.identity, p.prosrc as text
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    cross join lateral pg_identify_object('pg_proc'::regclass, p.oid, 0) i
    where n.nspname <> all ((select system_schemas from given)::text[])
    union all
    select n.nspname, t.tgname, 'trigger', format('%I on %I.%I', t.tgname, n.nspname, c.relname), encode(t.tgargs, 'escape')
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    join pg_namespace n on n.oid = c.relnamespace
    where not t.tgisinternal
)
select t.nspname::text as schema, t.name::text as name, t.type,
       format('A secret key is written in %s %s. Everybody who may read the catalog has it: rotate it, and keep it in the vault.',
              t.type, t.identity) as detail,
       null::text as fix, null::jsonb as metadata, format('%s_%s', t.type, t.identity) as key
from texts t
where t.text ~ 'sb_secret_[A-Za-z0-9_-]{22}'
   -- A JWT with the claim "role":"service_role", at any of the three positions in base64.
   or t.text ~ 'eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(InJvbGUiOiJzZXJ2aWNlX3JvbGUi|Jyb2xlIjoic2VydmljZV9yb2xlI|icm9sZSI6InNlcnZpY2Vfcm9sZSI)[A-Za-z0-9_-]*\.'
