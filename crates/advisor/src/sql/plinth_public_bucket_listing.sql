-- Public buckets whose files everybody may list. Their files can be fetched without any policy.
select 'storage' as schema, p.polname::text as name, 'policy' as type,
       format('Policy %I lets everybody list the files of the public bucket %s. Public files can be fetched by their URL without it.',
              p.polname, b.id) as detail,
       format('drop policy %I on storage.objects;', p.polname) as fix,
       jsonb_build_object('bucket', b.id) as metadata, format('%s_%s', p.polname, b.id) as key
from storage.buckets b
join pg_policy p on p.polrelid = to_regclass('storage.objects') and p.polpermissive and p.polcmd in ('r', '*')
cross join lateral pg_get_expr(p.polqual, p.polrelid) as expression
where b.public
  and (0 = any (p.polroles) or (select oid from pg_roles where rolname = 'anon') = any (p.polroles))
  and (expression = 'true' or expression = format('(bucket_id = %L::text)', b.id))
