-- $1 and $3 do not matter; $2: none, since extensions are known by name
select row_to_json(r)::text
from (
  select
    e.name,
    n.nspname as schema,
    e.default_version,
    x.extversion as installed_version,
    e.comment,
    coalesce(v.superuser and not v.trusted, false) as needs_superuser,
    coalesce(to_json(v.requires), '[]') as requires
  from pg_available_extensions() e (name, default_version, comment)
  left join pg_extension x on x.extname = e.name
  left join pg_namespace n on n.oid = x.extnamespace
  left join pg_available_extension_versions v
    on v.name = e.name and v.version = e.default_version
  where $1::boolean is not null and $3::boolean is not null and $2::oid[] is null
  order by e.name
) r
