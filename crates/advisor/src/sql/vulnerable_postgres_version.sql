-- Servers older than the last minor release with security fixes that is known here (November 2025).
, server as (
    select current_setting('server_version_num')::int as number, current_setting('server_version') as version
), fixed (major, minor) as (values (13, 23), (14, 20), (15, 15), (16, 11), (17, 7), (18, 1))
select null::text as schema, 'PostgreSQL' as name, 'server' as type,
       format('PostgreSQL %s lacks security fixes of %s.%s. The server has to be updated.', s.version, f.major, f.minor) as detail,
       null::text as fix, jsonb_build_object('version', s.version, 'fixed_in', format('%s.%s', f.major, f.minor)) as metadata,
       '' as key
from server s
join fixed f on f.major = s.number / 10000 and s.number % 10000 < f.minor
