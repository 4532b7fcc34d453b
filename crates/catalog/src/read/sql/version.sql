-- Nothing limits it: $1, $2 and $3 are those of all objects.
select row_to_json(r)::text
from (
  select
    version() as version,
    current_setting('server_version_num')::int8 as version_number,
    (select count(*) from pg_stat_activity) as active_connections,
    current_setting('max_connections')::int8 as max_connections
  where $1::boolean is not null and $2::oid[] is null and $3::boolean is not null
) r
