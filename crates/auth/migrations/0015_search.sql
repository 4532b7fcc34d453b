-- Operators look for users by a part of an address or of a name. Without an index that means reading
-- every user. What pg_trgm does would help, but an extension that is there already makes users'
-- `create extension` fail; so the few lines that are needed of it are here.
--
-- Only the letters of ASCII are made small, whatever the database's locale, because an index must not
-- depend on one; whoever asks leaves out trigrams with other letters. Texts are indexed up to their
-- thousandth letter.

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
