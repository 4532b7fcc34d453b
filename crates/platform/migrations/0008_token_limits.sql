-- What a token may not do: without scopes it may do everything, without projects everywhere.
alter table platform.tokens add column read_only boolean not null default false;
