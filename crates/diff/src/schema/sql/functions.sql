-- What `create or replace function` cannot change.
select p.oid as object,
       concat_ws(E'\n', p.prokind::text, pg_get_function_identity_arguments(p.oid),
                 pg_get_function_result(p.oid)) as fixed,
       p.pronargdefaults::int4 as defaults
from pg_proc p where p.oid >= 16384 and p.prokind <> 'a'
