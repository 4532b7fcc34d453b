-- $1: schema (text); an unknown one is an error.
select pg_catalog.obj_description(
    pg_catalog.quote_ident($1)::pg_catalog.regnamespace,
    'pg_namespace'
  ) as schema_comment
