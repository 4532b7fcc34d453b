-- Operators search and sort users by more than administrators of an application can: without these
-- indexes, each search of a million users reads all of them.
--
-- Columns that change with every sign-in have no index, so that such an update stays in its page: a list
-- sorted by the last sign-in reads all rows.

set local role supabase_auth_admin;

-- Beginnings of numbers.
create index users_phone_search_idx on auth.users (phone text_pattern_ops)
    where phone is not null;

-- Names of users who have no `full_name`, which another index has.
create index users_name_search_idx on auth.users
    using gin (auth.search_pieces(raw_user_meta_data ->> 'name')) with (fastupdate = off)
    where raw_user_meta_data ->> 'full_name' is null;

-- Values anywhere in the metadata.
create index users_user_metadata_idx on auth.users
    using gin (raw_user_meta_data jsonb_path_ops) with (fastupdate = off);
create index users_app_metadata_idx on auth.users
    using gin (raw_app_meta_data jsonb_path_ops) with (fastupdate = off);

-- Lists in the order of addresses.
create index users_email_order_idx on auth.users (lower(email), id)
    where email is not null;

-- The few that are banned or wait for a confirmation.
create index users_banned_idx on auth.users (banned_until)
    where banned_until is not null;
create index users_unconfirmed_idx on auth.users (created_at, id)
    where confirmed_at is null;

create index identities_provider_idx on auth.identities (provider, user_id);

-- What one user did, and what was done with one.
create index audit_log_entries_actor_idx
    on auth.audit_log_entries ((payload ->> 'actor_id'), created_at);
create index audit_log_entries_user_idx
    on auth.audit_log_entries ((payload -> 'traits' ->> 'user_id'), created_at)
    where payload -> 'traits' ->> 'user_id' is not null;
