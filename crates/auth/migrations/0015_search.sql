-- Admins search users by a part of an address or of a name, which would scan every user without an
-- index. pg_trgm would help, but if it were installed, users' own `create extension` would fail; so
-- the few functions needed are here.
--
-- Only ASCII letters are lower-cased, whatever the database's locale, because an index must not
-- depend on it; searches omit trigrams with other letters. Texts are indexed up to their thousandth
-- letter.

set local role supabase_auth_admin;

create function auth.search_trigrams(value text)
returns text[]
language sql
immutable
parallel safe
as $$
    select pg_catalog.array_agg(distinct pg_catalog.substr(small, place, 3))
    from (select pg_catalog.lower(pg_catalog.left(value, 1000) collate "C")) as texts (small),
        pg_catalog.generate_series(1, pg_catalog.length(small) - 2) as places (place)
$$;

create index users_email_search_idx on auth.users
    using gin (auth.search_trigrams(email));
create index users_full_name_search_idx on auth.users
    using gin (auth.search_trigrams(raw_user_meta_data ->> 'full_name'));
