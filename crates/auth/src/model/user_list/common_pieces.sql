-- The most common pieces of each index that finds users by pieces of a text, with their frequencies.
-- No row if the schema has none of these indexes; nulls before PostgreSQL has analyzed one.
select i.name, s.most_common_elems::text::text[] as pieces, s.most_common_elem_freqs as frequencies
from (values ('users_email_search_idx'), ('users_full_name_search_idx')) as i (name)
left join pg_catalog.pg_stats as s on s.schemaname = 'auth' and s.tablename = i.name
where to_regprocedure('auth.search_pieces(text)') is not null
