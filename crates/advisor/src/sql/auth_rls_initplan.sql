-- Policies that ask for the caller once per row.
, policies as (
    select p.*, n.nspname, c.relname, pg_get_expr(p.polqual, p.polrelid) as using_text,
           pg_get_expr(p.polwithcheck, p.polrelid) as check_text
    from pg_policy p
    join pg_class c on c.oid = p.polrelid
    join pg_namespace n on n.oid = c.relnamespace
    where n.nspname <> all ((select system_schemas from given)::text[]) or n.nspname in ('storage', 'realtime')
)
select p.nspname::text as schema, p.polname::text as name, 'policy' as type,
       format('Policy %I of table %I.%I asks who the caller is for every row; in a sub-select it would be asked once.',
              p.polname, p.nspname, p.relname) as detail,
       null::text as fix,
       jsonb_build_object('table', p.relname, 'policy', jsonb_build_object(
           'target', format('%I on %I.%I', p.polname, p.nspname, p.relname),
           'using', p.using_text, 'check', p.check_text)) as metadata,
       format('%s_%s_%s', p.nspname, p.relname, p.polname) as key
from policies p
cross join lateral (
    -- What is in a sub-select already does not count; nor do quoted texts.
    select regexp_replace(regexp_replace(concat_ws(' and ', p.using_text, p.check_text),
                                         'select\s+(auth\.(uid|jwt|role|email)\(\)|current_setting\()', '', 'gi'),
                          '(?<!current_setting\()''([^'']|'''')*''', '', 'g') as text) left_over
where left_over.text ~ '(^|[^a-z_.0-9"])(auth\.(uid|jwt|role|email)\(\)|current_setting\()'
