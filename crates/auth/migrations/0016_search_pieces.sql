-- A trigram is in one of a hundred addresses, so with a million users every search read long
-- posting lists. Pieces of four letters are much rarer. Both lengths are indexed, because searches
-- may have three letters only.
--
-- With `fastupdate`, pieces of new users would wait in a pending list of some ten thousand users
-- that every search scans. Inserting them into the index directly costs a sign-up less than a
-- hundredth of its password hash.

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

-- Users found by pieces. With a generic plan, since the plan is the same for every search and
-- planning takes longer than execution. The two conditions are separate queries, because an OR
-- would compute the pieces of each row again.
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
