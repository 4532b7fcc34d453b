-- Nothing limits it: $1, $2 and $3 are those of all objects.
select row_to_json(r)::text
from (
  select
    name, setting, category,
    trim(split_part(category, '/', 1)) as "group",
    trim(split_part(category, '/', 2)) as subgroup,
    unit, short_desc, extra_desc, context, vartype, source, min_val, max_val, enumvals, boot_val,
    reset_val, sourcefile, sourceline, pending_restart
  from pg_settings
  where $1::boolean is not null and $2::oid[] is null and $3::boolean is not null
  order by category, name
) r
