-- Three letters in a row are in one of a hundred addresses, so among a million users every search read
-- long lists to find a short one. Four in a row are a good deal rarer. Both lengths are indexed, because
-- people also look for three letters.
--
-- A new user's pieces would wait in a list that every search has to read from its beginning to its end,
-- some ten thousand users long. They go into the index at once instead, which costs a sign-up less than
-- a hundredth of what its password does.

set local role supabase_auth_admin;

create function auth.search_pieces(value text)
returns text[]
language sql
immutable
parallel safe
as $$
    select pg_catalog.array_agg(distinct pg_catalog.substr(small, place, size))
    from (select pg_catalog.lower(pg_catalog.left(value, 1000) collate "C")) as texts (small),
        pg_catalog.generate_series(3, 4) as sizes (size),
        pg_catalog.generate_series(1, pg_catalog.length(small) - size + 1) as places (place)
$$;

drop index auth.users_email_search_idx, auth.users_full_name_search_idx;
drop function auth.search_trigrams(text);

create index users_email_search_idx on auth.users
    using gin (auth.search_pieces(email)) with (fastupdate = off);
create index users_full_name_search_idx on auth.users
    using gin (auth.search_pieces(raw_user_meta_data ->> 'full_name')) with (fastupdate = off);

-- Who is found by pieces. Planned once and for all: the plan is the same for every search, and to make it
-- takes longer than to find somebody. The two parts stand apart, because a row that fits one or the other
-- would have its pieces taken apart once more.
create function auth.search_users(audience text, pattern text, email_pieces text[], name_pieces text[])
returns table (id uuid, created_at timestamptz)
language plpgsql
stable
rows 100
set plan_cache_mode = force_generic_plan
as $$
begin
    return query
    select u.id, u.created_at
    from auth.users as u
    where auth.search_pieces(u.email) operator(pg_catalog.@>) email_pieces
        and u.email operator(pg_catalog.~~) pattern
        and (u.instance_id = '00000000-0000-0000-0000-000000000000' or u.instance_id is null)
        and u.aud = audience
    union
    select u.id, u.created_at
    from auth.users as u
    where auth.search_pieces(u.raw_user_meta_data ->> 'full_name') operator(pg_catalog.@>) name_pieces
        and u.raw_user_meta_data ->> 'full_name' operator(pg_catalog.~~*) pattern
        and (u.instance_id = '00000000-0000-0000-0000-000000000000' or u.instance_id is null)
        and u.aud = audience;
end
$$;
revoke execute on function auth.search_users(text, text, text[], text[]) from public;
