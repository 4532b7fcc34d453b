-- One of everything that postgres-meta shows, with names that need care.
create type mood as enum ('sad', 'it''s "fine"', 'happy');
create type address as (street text, "zip code" int, moods mood[]);
create domain short_text as varchar(10) not null default 'x' check (value <> '');
create schema "Other Schema";
create type "Other Schema".mood as enum ('a', 'b');

create table users (
  id bigint generated always as identity primary key,
  name text not null unique check (name <> ''),
  mood mood default 'happy',
  moods mood[] not null default '{}',
  home address,
  nick short_text,
  balance numeric(10, 2) default 0.5,
  tags text[],
  settings jsonb not null default '{}',
  born date,
  seen timestamp(3) with time zone default now(),
  loud text generated always as (upper(name)) stored
);
comment on table users is 'People, "quoted" and ''quoted''';
comment on column users.name is 'What they are called';
alter table users enable row level security;
create policy "read own" on users for select to authenticated, anon using (id > 0);
create policy strict on users as restrictive for all using (true) with check (name <> 'root');

create table "Other Schema"."my table" (
  "a.b" int,
  "c""d" int,
  "🙂" "Other Schema".mood,
  serial_number serial,
  primary key ("c""d", "a.b")
);
create table todos (
  id uuid primary key default gen_random_uuid(),
  user_id bigint references users on delete cascade on update set null,
  parent uuid references todos,
  note varchar(20) default 'it''s'
);
alter table todos replica identity full;
create unique index todos_note on todos (note);
create index "by user" on todos using hash (user_id);
insert into users (name) select 'user ' || n from generate_series(1, 100) n;
insert into todos (user_id, note) select id, 'note ' || id from users;
analyze;

create table measured (at timestamptz not null, value float8) partition by range (at);
create table measured_2026 partition of measured for values from ('2026-01-01') to ('2027-01-01');

create view happy_users as select id, name, mood from users where mood = 'happy';
create view counts with (security_invoker = true) as select mood, count(*) as number from users group by mood;
create materialized view moods as select distinct mood from users;
create materialized view empty_moods as select 1 as one with no data;
comment on view counts is 'How many';

create function add(a int, b int default 2) returns int language sql immutable as 'select a + b';
create function todos_of(u users) returns setof todos rows 3 language sql stable as 'select * from todos where user_id = u.id';
create function stats(out total bigint, out largest bigint) language sql as 'select 1::bigint, 2::bigint';
create function listed() returns table (id bigint, name text) language sql security definer set search_path = public as 'select id, name from users';
create function many(variadic xs int[]) returns int language sql as 'select cardinality(xs)';
create function on_change() returns trigger language plpgsql as $$ begin return new; end $$;
create trigger changed before insert or update of name, mood on users
  for each row when (new.name is distinct from 'x') execute function on_change('one', 'two');
create trigger told after delete on todos for each statement execute function on_change();
alter table todos disable trigger told;
create publication some_tables for table users, todos with (publish = 'insert, update');
grant select (id, name), update (name) on users to anon;
grant select on todos to public;
revoke all on todos from anon;
