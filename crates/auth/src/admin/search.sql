-- The trigrams of a text ($1) that are worth looking up, per index: those that fewest users have.
-- An index that is asked for trigrams that everybody has (`.co`, `@ex`) reads its lists of everybody
-- for nothing. A table of which no statistics are there yet is asked for all.
with common as materialized (
    select s.tablename, e.trigram, e.frequency
    from pg_catalog.pg_stats as s,
        unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) as e (trigram, frequency)
    where s.schemaname = 'auth'
        and s.tablename in ('users_email_search_idx', 'users_full_name_search_idx')
)
select
    array(
        select wanted.trigram
        from unnest($1::text[]) as wanted (trigram)
        left join common on common.trigram = wanted.trigram
            and common.tablename = 'users_email_search_idx'
        order by coalesce(common.frequency, 0), wanted.trigram
        limit (select 4 from common where tablename = 'users_email_search_idx' limit 1)
    ) as email,
    array(
        select wanted.trigram
        from unnest($1::text[]) as wanted (trigram)
        left join common on common.trigram = wanted.trigram
            and common.tablename = 'users_full_name_search_idx'
        order by coalesce(common.frequency, 0), wanted.trigram
        limit (select 4 from common where tablename = 'users_full_name_search_idx' limit 1)
    ) as full_name
where to_regprocedure('auth.search_trigrams(text)') is not null
