-- Implicit casts by function between a domain and json or text, if the login role can execute the
-- function.
select
  format_type(c.castsource, null) as source_type,
  format_type(c.casttarget, null) as target_type,
  c.castfunc::regproc::text as function
from pg_cast c
join pg_type source on source.oid = c.castsource
join pg_type target on target.oid = c.casttarget
where c.castcontext = 'i'
  and c.castmethod = 'f'
  and has_function_privilege(c.castfunc, 'execute')
  and (
    source.typtype = 'd' and target.oid in ('json'::regtype, 'text'::regtype)
    or target.typtype = 'd' and source.oid in ('json'::regtype, 'text'::regtype)
  )
