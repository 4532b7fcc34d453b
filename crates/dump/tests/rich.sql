-- An odd database: every kind of object, names that need quotes, owners and rights of all sorts.
create schema "Odd ""schema""" authorization anon;
create schema "select" authorization postgres;
create schema ünï;
grant usage on schema ünï to anon with grant option;
grant usage on schema "select" to anon;
comment on schema ünï is 'it''s a \ comment with $$ and "quotes"';
create extension citext schema extensions;
create extension hstore schema ünï;
set role postgres; create extension pg_trgm schema extensions; reset role;
create extension btree_gist schema extensions;
create extension postgres_fdw schema extensions;
revoke execute on function extensions.similarity(text, text) from public;
grant execute on function extensions.similarity(text, text) to anon;
revoke execute on function pg_catalog.pg_sleep(double precision) from public;
set search_path = "select", ünï, public, extensions;

create collation "Groß" (provider = icu, locale = 'de-u-kn-true', deterministic = false);
create collation german_c from "C";
create type mood as enum ('sad', 'o''k', 'it "is"', 'sehr-glücklich');
alter type mood add value 'first' before 'sad';
create type empty_enum as enum ();
create type pair as (a int, "B b" text collate "C", m mood[]);
create type nothing as ();
create function is_even(n int) returns boolean language sql immutable as 'select n % 2 = 0';
create domain even as int default 2 not null constraint "must be even" check (is_even(value)) check (value < 1000000);
alter domain even add constraint later check (value > -1000000) not valid;
create domain email as extensions.citext collate "C" check (value ~ '@');
comment on constraint "must be even" on domain even is 'no odd ones';
comment on domain even is 'half of them';
grant usage on type mood to anon;
revoke usage on type pair from public;
create type float_range as range (subtype = float8, subtype_diff = float8mi, multirange_type_name = floats);
create type text_range as range (subtype = text, collation = "C");

create sequence plain start 5 increment by -3 minvalue -100 maxvalue 50 cache 7 cycle;
select nextval('plain'), nextval('plain');
create sequence untouched as smallint;
grant usage on sequence plain to authenticated;

create table "Tabelle mit Ümläuten" (
    id int generated always as identity (start with 10 increment by 5),
    "Name" text not null default 'it''s',
    kind mood default 'sad',
    e even,
    doubled int generated always as (e * 2) stored,
    p pair,
    big text,
    tags text[] default array['a', 'b''c'],
    at timestamptz default now(),
    constraint "check me" check (length("Name") > 0),
    primary key (id)
) with (fillfactor = 70, autovacuum_enabled = false, toast.autovacuum_enabled = false);
alter table "Tabelle mit Ümläuten" alter column big set storage external;
alter table "Tabelle mit Ümläuten" alter column "Name" set statistics 500;
alter table "Tabelle mit Ümläuten" alter column id set (n_distinct = -0.5);
alter table "Tabelle mit Ümläuten" alter column big set compression pglz;
alter table "Tabelle mit Ümläuten" add column dropped int;
alter table "Tabelle mit Ümläuten" drop column dropped;
alter table "Tabelle mit Ümläuten" add column "last" numeric(10, 2);
comment on table "Tabelle mit Ümläuten" is 'a table';
comment on column "Tabelle mit Ümläuten"."Name" is 'a column';
comment on constraint "check me" on "Tabelle mit Ümläuten" is 'a check';
insert into "Tabelle mit Ümläuten" ("Name", kind, e, p, big, tags, "last")
select 'name ' || n || case n % 3 when 0 then E'\t\n\\' else 'ü☃' end, 'o''k', n * 2,
       row(n, 'x"y', array['sad', 'o''k']::mood[])::pair, repeat('x', n * 100), null, n / 3.0
from generate_series(1, 50) n;

create table owned (id serial primary key, other bigserial, parent int references owned deferrable initially deferred,
                    code text unique nulls not distinct with (fillfactor = 60), during tstzrange, room int,
                    exclude using gist (room with =, during with &&) where (room > 0));
alter table owned cluster on owned_code_key;
alter table owned add constraint positive check (room >= 0) not valid;
alter table owned add constraint unchecked foreign key (room) references "Tabelle mit Ümläuten" (id) not valid;
alter table owned replica identity using index owned_pkey;
alter table owned owner to authenticated;
insert into owned (code, room) select 'c' || n, null from generate_series(1, 20) n;
set constraints all immediate;
create table no_columns ();
insert into no_columns default values;
create unlogged table unlogged (v jsonb) ;
insert into unlogged values ('{"a": [1, "b"]}');
alter table unlogged replica identity full;
create table typed of pair (a with options not null default 7, primary key (a));
create table moneys (m money, i interval, d date, f float8, b bytea, x xml, v ünï.hstore, r float_range, rs floats);
insert into moneys values ('$1234.56', '1 mon -3 days 04:05:06.789', '0044-03-15 BC', 'Infinity', '\x00ff'::bytea, '<a/>',
                           'a=>1', float_range(1.5, 2.5), floats(float_range(1, 2), float_range(3, 4)));

create table ancestors (id int primary key, name text not null default 'anc', constraint inherited check (id > 0));
create table descendants (extra text, constraint own_check check (extra <> '')) inherits (ancestors);
create table other_ancestors (name text not null, z int);
create table twice (name text not null default 'merged') inherits (ancestors, other_ancestors);
alter table descendants alter column name set default 'desc';
insert into ancestors values (1); insert into descendants values (2, default, 'e'); insert into twice values (3, 'n', 4);

create table parted (id int not null, region text not null, "when" date not null, primary key (id, region, "when"),
                     amount int default 1 check (amount > 0)) partition by list (region);
create table parted_eu partition of parted for values in ('de', 'fr') partition by range ("when");
create table parted_eu_old partition of parted_eu for values from (minvalue) to ('2020-01-01');
create table parted_eu_new (amount int default 5, "when" date not null, id int not null, region text not null, check (amount > 0));
alter table parted_eu_new drop constraint parted_eu_new_amount_check, add constraint parted_amount_check check (amount > 0);
alter table parted_eu attach partition parted_eu_new for values from ('2020-01-01') to (maxvalue);
create table parted_rest partition of parted default;
create index parted_amount on parted (amount);
create index only_here on parted_rest (amount desc nulls last) include (id);
insert into parted select n, (array['de', 'fr', 'us'])[n % 3 + 1], date '2019-06-01' + n * 10 from generate_series(1, 90) n;
create table refers (id int, region text, "when" date, foreign key (id, region, "when") references parted on delete cascade on update set null);
insert into refers select id, region, "when" from parted limit 5;
create table hashed (k text collate "C") partition by hash (lower(k));
create table hashed_0 partition of hashed for values with (modulus 1, remainder 0);

create function "Fn with ""quotes""" (a int, b text default 'it''s', variadic rest text[] default '{}') returns text
    language plpgsql stable strict parallel safe cost 7 security definer set search_path = 'a b', public set work_mem = '5MB'
    as $body$ begin return a || b || $$inner$$; end $body$;
create function rowtype_of(t "Tabelle mit Ümläuten") returns text language sql immutable as 'select t."Name"';
create function uses_table() returns setof owned language sql stable begin atomic select * from "select".owned; end;
create function add_to(state int, value int, out total int) language sql immutable as 'select state + coalesce(value, 0)';
create procedure do_it(inout x int) language plpgsql as 'begin x := x + 1; end';
create function trigger_fn() returns trigger language plpgsql as 'begin return new; end';
comment on function is_even(int) is 'a function';
comment on procedure do_it(int) is 'a procedure';
revoke execute on function is_even(int) from public;
grant execute on function is_even(int) to anon, authenticated with grant option;
set role anon; grant execute on function "select".is_even(int) to service_role; reset role;
grant execute on procedure do_it(int) to anon;
alter function rowtype_of owner to postgres;
create aggregate total(int) (sfunc = add_to, stype = int, initcond = '0', parallel = safe);
create aggregate moving(float8) (sfunc = float8pl, stype = float8, initcond = '0', msfunc = float8pl, minvfunc = float8mi, mstype = float8, minitcond = '0');
create aggregate my_percentile(float8 order by anyelement) (sfunc = ordered_set_transition, stype = internal,
    finalfunc = percentile_disc_final, finalfunc_extra);
comment on aggregate total(int) is 'an aggregate';
alter aggregate total(int) owner to postgres;
create function pair_eq(l pair, r pair) returns boolean language sql immutable as 'select l.a = r.a';
create operator === (function = pair_eq, leftarg = pair, rightarg = pair, commutator = ===, restrict = eqsel, join = eqjoinsel);
create operator !== (function = pair_eq, leftarg = pair, rightarg = pair, negator = ===);
comment on operator === (pair, pair) is 'an operator';
create function pair_cmp(l pair, r pair) returns int language sql immutable as 'select l.a - r.a';
create operator <<< (function = pair_eq, leftarg = pair, rightarg = pair);
create operator family fam using btree;
create operator class pair_ops for type pair using btree family fam as operator 3 ===, function 1 pair_cmp(pair, pair);
alter operator family fam using btree add operator 1 <<< (pair, pair);
create function pair_to_int(p pair) returns int language sql immutable as 'select p.a';
create cast (pair as int) with function pair_to_int(pair) as assignment;
create cast (mood as text) with inout;
comment on cast (pair as int) is 'a cast';
create conversion conv for 'LATIN1' to 'UTF8' from iso8859_1_to_utf8;
create text search dictionary syn (template = simple, stopwords = 'english', accept = false);
create text search configuration conf (copy = english);
alter text search configuration conf alter mapping for asciiword, word with syn, english_stem;

create view simple_view with (security_barrier, security_invoker = true) as select id, "Name" as "N n" from "Tabelle mit Ümläuten" where id > 5 with local check option;
create view by_key as select o.*, count(t.id) as n from owned o left join "Tabelle mit Ümläuten" t on t.id = o.room group by o.id;
create view over_key as select id, n from by_key;
grant select on by_key to anon;
comment on view by_key is 'relies on a key';
create function of_view() returns setof over_key language sql stable as 'select * from "select".over_key';
alter view simple_view alter column id set default 3;
create rule "ins rule" as on insert to simple_view do instead nothing;
create rule notify_rule as on update to owned do also notify changed;
alter table owned disable rule notify_rule;
create materialized view counts as select kind, count(*) as n from "Tabelle mit Ümläuten" group by kind;
create unique index counts_kind on counts (kind);
create materialized view of_counts as select sum(n) as total from counts;
create materialized view unpopulated as select 1 as one with no data;
alter materialized view counts owner to postgres;
grant select on "Tabelle mit Ümläuten" to postgres;
comment on materialized view counts is 'rows';

create index expr on "Tabelle mit Ümläuten" (lower("Name") text_pattern_ops, (e + 1)) where kind = 'sad';
alter index expr alter column 2 set statistics 33;
create index "Gin Index" on "Tabelle mit Ümläuten" using gin ("Name" extensions.gin_trgm_ops) with (fastupdate = off);
comment on index expr is 'an index';
create unique index unique_one on owned (other) include (code) nulls not distinct;
create statistics stats (dependencies, mcv) on id, kind from "Tabelle mit Ümläuten";
alter statistics stats set statistics 77;
create statistics exprs on (e * 3), id from "Tabelle mit Ümläuten";
create trigger "My Trigger" before insert or update of "Name" on "Tabelle mit Ümläuten" for each row when (new.id > 1) execute function trigger_fn('a''b', '2');
create constraint trigger deferred after insert on owned deferrable initially deferred for each row execute function trigger_fn();
create trigger off after delete on owned referencing old table as gone for each statement execute function trigger_fn();
alter table owned disable trigger off;
create trigger always before insert on parted for each row execute function trigger_fn();
alter table parted_rest disable trigger always;
alter table owned enable always trigger deferred;
create trigger instead instead of insert on by_key for each row execute function trigger_fn();
comment on trigger off on owned is 'a trigger';
alter function trigger_fn() depends on extension citext;

alter table owned enable row level security, force row level security;
create policy "a policy" on owned as restrictive for update to anon, authenticated using (room > 1) with check (code <> 'it''s');
create policy everyone on owned using (true);
create policy only_insert on owned for insert with check (exists (select from "Tabelle mit Ümläuten" t where t.id = room));
comment on policy everyone on owned is 'a policy';
grant select, insert (code, room), update (code) on owned to anon;
grant select (id) on owned to service_role with grant option;
revoke all on owned from authenticated;
grant select on owned to authenticated;
grant all on table no_columns to public;

create server other type 'pg' version '1' foreign data wrapper postgres_fdw options (host 'it''s', dbname 'x');
create user mapping for anon server other options (user 'u', password 'p''w');
create user mapping for public server other;
create foreign table abroad (id int options (column_name 'ID') not null, t text default 'x') server other options (schema_name 's', table_name 't');
grant usage on foreign server other to anon;
create foreign data wrapper own_wrapper options (debug 'true');
comment on server other is 'a server';

create publication pub for table only owned (id, code) where (id > 5), "Tabelle mit Ümläuten" with (publish = 'insert, delete', publish_via_partition_root = true);
create publication pub_schema for tables in schema ünï;
create publication pub_all for all tables;
create function on_ddl() returns event_trigger language plpgsql as 'begin end';
create event trigger watch on ddl_command_end when tag in ('CREATE TABLE', 'ALTER TABLE') execute function on_ddl();
create event trigger asleep on sql_drop execute function on_ddl();
alter event trigger asleep disable;
comment on event trigger watch is 'an event trigger';

alter default privileges for role postgres in schema "select" grant select on tables to anon with grant option;
alter default privileges for role anon revoke execute on functions from public;
alter default privileges for role anon revoke all on types from anon;
alter default privileges for role authenticated grant usage on schemas to anon;
select lo_create(424242), lo_from_bytea(424243, repeat('large', 500000)::bytea);
alter large object 424243 owner to postgres;
grant select on large object 424243 to anon;
comment on large object 424242 is 'empty';
analyze;
