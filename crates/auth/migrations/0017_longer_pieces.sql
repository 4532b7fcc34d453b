-- With a million users, a piece of four letters is in hundreds of addresses, and reading two such
-- posting lists dominates a search. Pieces of six are in almost none. Shorter ones remain for
-- searches of three or four letters.

set local role supabase_auth_admin;

drop index auth.users_email_search_idx, auth.users_full_name_search_idx;

create or replace function auth.search_pieces(value text)
returns text[]
language sql
immutable
parallel safe
as $$
    select pg_catalog.array_agg(distinct pg_catalog.substr(small, place, size))
    from (select pg_catalog.lower(pg_catalog.left(value, 1000) collate "C")) as texts (small),
        pg_catalog.unnest(array[3, 4, 6]) as sizes (size),
        pg_catalog.generate_series(1, pg_catalog.length(small) - size + 1) as places (place)
$$;

create index users_email_search_idx on auth.users
    using gin (auth.search_pieces(email)) with (fastupdate = off);
create index users_full_name_search_idx on auth.users
    using gin (auth.search_pieces(raw_user_meta_data ->> 'full_name')) with (fastupdate = off);
