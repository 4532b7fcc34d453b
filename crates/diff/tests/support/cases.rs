//! Objects of every kind, each in two forms. A test goes from nothing to the first, to the second and
//! back to nothing; another one mixes them.

/// An object in two forms.
pub struct Case {
    pub name: &'static str,
    /// What both forms stand on.
    pub base: &'static str,
    pub first: &'static str,
    pub second: &'static str,
    /// The oldest server that has it.
    pub since: i32,
}

const fn case(
    name: &'static str,
    base: &'static str,
    first: &'static str,
    second: &'static str,
) -> Case {
    Case {
        name,
        base,
        first,
        second,
        since: 0,
    }
}

const fn since(since: i32, case: Case) -> Case {
    Case { since, ..case }
}

pub const CASES: &[Case] = &[
    case(
        "schemas",
        "",
        "create schema s1; grant usage on schema s1 to anon; comment on schema s1 is 'one';",
        "create schema s1; grant usage, create on schema s1 to authenticated; create schema \"S \"\"2\";
         create table \"S \"\"2\".t (id int primary key);",
    ),
    case(
        "extensions",
        "",
        "create extension citext schema extensions;",
        "create extension citext schema public; create extension pg_trgm schema extensions;",
    ),
    case(
        "enum_added",
        "",
        "create type mood1 as enum ('b', 'd'); create table moods1 (m mood1);",
        "create type mood1 as enum ('a', 'b', 'it''s', 'd', 'e\\f'); create table moods1 (m mood1);",
    ),
    case(
        "enum_renamed",
        "",
        "create type mood2 as enum ('x', 'y'); create table moods2 (m mood2 default 'x');",
        "create type mood2 as enum ('x', 'z'); create table moods2 (m mood2 default 'x'); comment on type mood2 is 'c';",
    ),
    case(
        "enum_label_in_use",
        "",
        "create type mood3 as enum ('x');
         create table moods3 (id int primary key, m mood3 default 'x', ms mood3[], check (m <> 'x'));
         create index moods3_m on moods3 (m) where m = 'x';",
        "create type mood3 as enum ('x', 'new');
         create table moods3 (id int primary key, m mood3 default 'new', ms mood3[], check (m <> 'new'));
         create index moods3_m on moods3 (m) where m = 'new';",
    ),
    case(
        "enum_removed_label",
        "",
        "create type mood4 as enum ('x', 'y');
         create table moods4 (id int primary key, m mood4 not null default 'x');
         create view moods4_view as select id from moods4 where m = 'x';
         create function of_mood4(m mood4) returns boolean language sql immutable as 'select true';
         alter table moods4 enable row level security;
         create policy p on moods4 using (m = 'x' and of_mood4(m));",
        "create type mood4 as enum ('x');
         create table moods4 (id int primary key, m mood4 not null default 'x');
         create view moods4_view as select id from moods4 where m = 'x';
         create function of_mood4(m mood4) returns boolean language sql immutable as 'select true';
         alter table moods4 enable row level security;
         create policy p on moods4 using (m = 'x' and of_mood4(m));",
    ),
    case(
        "composites",
        "",
        "create type pair1 as (a int, \"B b\" text); create table pairs1 (p pair1);
         create type pair2 as (a int, b int); create table pairs2 (p pair2, ps pair2[]);",
        "create type pair1 as (\"B b\" text collate \"C\", c numeric(4, 1)); create table pairs1 (p pair1);
         create type pair2 as (b bigint, a int); create table pairs2 (p pair2);",
    ),
    case(
        "domains",
        "",
        "create domain positive as int default 1 constraint more check (value > 0);
         create domain code as text not null; create table with_domains (p positive, c code);",
        "create domain positive as int not null constraint more check (value > 1) constraint less check (value < 100);
         create domain code as varchar(9) default 'x'; create table with_domains (p positive, c code);
         comment on constraint less on domain positive is 'small';",
    ),
    case(
        "ranges",
        "",
        "create type fr as range (subtype = float8);",
        "create type fr as range (subtype = float8, subtype_diff = float8mi);",
    ),
    case(
        "sequences",
        "",
        "create sequence seq1 start 5 increment 2 cycle; create table serials (id serial primary key, n int);
         create sequence seq2; create table owner_of_seq2 (id int default nextval('seq2'));
         alter sequence seq2 owned by owner_of_seq2.id;",
        "create sequence seq1 as smallint maxvalue 90 cache 3; create table serials (id int primary key, n bigserial);
         create sequence seq2; create table owner_of_seq2 (id int default nextval('seq2'));
         grant usage on sequence seq1 to anon;",
    ),
    case(
        "columns",
        "create table cols (id int);",
        "alter table cols add a int default 7 not null, add b text, add \"C c\" varchar(10) collate \"C\",
             add d numeric, add e text default 'it''s';
         insert into cols (id, b) values (1, 'x');
         comment on column cols.b is 'b'; grant select (b) on cols to anon;
         alter table cols alter b set storage external, alter a set statistics 77, alter a set (n_distinct = 5);",
        "alter table cols add a bigint, add \"C c\" text default 'q' not null, add d numeric(10, 2) default 1.5,
             add f timestamptz default now() not null;
         comment on column cols.a is 'a'; grant select (a), update (d) on cols to authenticated;
         alter table cols alter a set statistics 99, alter d set storage main;",
    ),
    case(
        "columns_under_views",
        "",
        "create table under (id int primary key, v int, w int);
         create view over_under as select id, v from under; create view over_over as select v from over_under;
         grant select on over_under to anon; comment on view over_over is 'top';
         create materialized view stored_over as select v from over_under; create index stored_over_v on stored_over (v);
         create policy on_v on under using (v > 0);
         create trigger when_v before update of v on under for each row when (old.v is distinct from new.v)
             execute function suppress_redundant_updates_trigger();",
        "create table under (id bigint primary key, v text, x int);
         create view over_under as select id, v from under; create view over_over as select v from over_under;
         grant select on over_under to anon; comment on view over_over is 'top';
         create materialized view stored_over as select v from over_under; create index stored_over_v on stored_over (v);
         create policy on_v on under using (v > 'a');
         create trigger when_v before update of v on under for each row when (old.v is distinct from new.v)
             execute function suppress_redundant_updates_trigger();",
    ),
    case(
        "identity_and_generated",
        "create table gen (k int);",
        "alter table gen add id int generated always as identity (start 5 increment 5), add a int not null,
             add double int generated always as (a * 2) stored;
         create index gen_double on gen (double); comment on column gen.double is 'd';",
        "alter table gen add id int generated by default as identity (cache 9), add a int not null generated always as identity,
             add double int generated always as (a * 3) stored;
         create index gen_double on gen (double); comment on column gen.double is 'd';",
    ),
    case(
        "generated_of_retyped",
        "",
        "create table gen2 (a int, double int generated always as (a * 2) stored, c int generated always as (a) stored);",
        "create table gen2 (a bigint, double bigint generated always as (a * 2) stored, c int);",
    ),
    since(
        180_000,
        case(
            "virtual_columns",
            "create table virt (a int);",
            "alter table virt add v int generated always as (a + 1) virtual, add constraint nn not null a;",
            "alter table virt add v int generated always as (a + 2) virtual, add constraint other_nn not null a no inherit;",
        ),
    ),
    case(
        "constraints",
        "create table other (id int primary key, code text unique, x int);",
        "create table cons (id int primary key, a int unique, b int references other on delete cascade,
                            c int check (c > 0), constraint \"My check\" check (a < b) no inherit);
         alter table cons add constraint later check (id > 0) not valid;
         comment on constraint \"My check\" on cons is 'mine';",
        "create table cons (id int, a int, b int, c int check (c > 1), d text,
                            primary key (id, a), unique nulls not distinct (b) deferrable initially deferred,
                            foreign key (d) references other (code) on update set null deferrable);
         alter table cons add constraint later check (id > 0);",
    ),
    case(
        "exclusion",
        "",
        "create table booked (during tstzrange, exclude using gist (during with &&));",
        "create table booked (during tstzrange, exclude using gist (during with &&) where (not isempty(during)));",
    ),
    case(
        "table_settings",
        "create table sets (id int primary key, a int not null); create unique index sets_a on sets (a);",
        "alter table sets set (fillfactor = 70, autovacuum_enabled = off, toast.autovacuum_enabled = off);
         alter table sets enable row level security; alter table sets replica identity full;
         alter table sets cluster on sets_pkey;",
        "alter table sets set (fillfactor = 80); alter table sets enable row level security, force row level security;
         alter table sets replica identity using index sets_a; alter table sets set unlogged;",
    ),
    case(
        "indexes",
        "create table ind (id int, t text, j jsonb);",
        "create index ind_t on ind (t); create index \"Ind J\" on ind using gin (j); create unique index ind_u on ind (id) where id > 0;
         comment on index ind_t is 'i'; create index ind_expr on ind ((id + 1)); alter index ind_expr alter column 1 set statistics 50;",
        "create index ind_t on ind (lower(t) desc nulls last) include (id); create unique index ind_u on ind (id) with (fillfactor = 50);
         create index ind_expr on ind ((id + 1));",
    ),
    case(
        "inheritance",
        "create table parent (id int, n text not null, check (id > 0));",
        "create table child (extra int) inherits (parent); create table loose (id int, n text not null, check (id > 0));
         alter table loose add constraint parent_id_check check (id > 0);",
        "create table child (extra int, more int) inherits (parent); alter table child alter n set default 'x';
         create table loose (id int, n text not null, check (id > 0));
         alter table loose add constraint parent_id_check check (id > 0); alter table loose inherit parent;",
    ),
    case(
        "parents_columns",
        "",
        "create table elder (id int, a int, b int); create table younger (z int) inherits (elder);
         create table parted0 (id int, k int) partition by list (k); create table parted0_1 partition of parted0 for values in (1);",
        "create table elder (id bigint, b int not null, c text default 'c'); create table younger (z int) inherits (elder);
         create table parted0 (id bigint not null, k int, extra text) partition by list (k); create table parted0_1 partition of parted0 for values in (1);",
    ),
    case(
        "partitions",
        "create table parts (id int not null, region text not null, amount int check (amount > 0), primary key (id, region))
             partition by list (region);
         create index parts_amount on parts (amount); create table part_default partition of parts default;
         create function part_trigger() returns trigger language plpgsql as 'begin return new; end';
         create trigger on_parts before insert on parts for each row execute function part_trigger();",
        "create table part_de partition of parts for values in ('de'); create index only_de on part_de (amount desc);
         create table part_sub partition of parts for values in ('us') partition by range (id);
         create table part_sub_1 partition of part_sub for values from (1) to (100);",
        "create table part_de partition of parts for values in ('de', 'at');
         create table part_fr (id int not null, region text not null, amount int, constraint parts_amount_check check (amount > 0));
         alter table parts attach partition part_fr for values in ('fr');
         alter table part_default disable trigger on_parts;",
    ),
    case(
        "partitioned_by",
        "",
        "create table by_key (a int, b int) partition by list (a); create table by_key_1 partition of by_key for values in (1);",
        "create table by_key (a int, b int) partition by list (b); create table by_key_1 partition of by_key for values in (1);",
    ),
    case(
        "partition_keys",
        "create table pk (a int not null, b int not null) partition by list (a); create table pk_1 partition of pk for values in (1);",
        "alter table pk add constraint pk_key primary key (a); create index pk_b on pk (b);",
        "alter table pk add constraint pk_key primary key (a, b); create index pk_b on pk (b desc);",
    ),
    case(
        "views",
        "create table viewed (id int primary key, a text, b text);",
        "create view view1 as select id from viewed;
         create view view2 with (security_invoker = true) as select id, a from viewed where id > 0 with local check option;
         create view view3 as select v.id from view2 v; grant select on view2 to anon; comment on column view1.id is 'id';",
        "create view view1 with (security_barrier = true) as select id, a from viewed;
         create view view2 as select a, id from viewed; alter view view2 alter column id set default 5;
         create view view3 as select v.id from view2 v; grant select on view3 to anon;
         create view view4 as select o.*, count(*) as n from viewed o group by o.id;",
    ),
    case(
        "materialized_views",
        "create table source (id int, a text);",
        "create materialized view mat as select id from source; create unique index mat_id on mat (id);
         create view over_mat as select id from mat;",
        "create materialized view mat as select id, a from source; create unique index mat_id on mat (id);
         create view over_mat as select id from mat; comment on materialized view mat is 'm';",
    ),
    case(
        "functions",
        "create table funs (id int);",
        "create function f1(a int) returns int language sql as 'select a';
         create function f2(a int, b text default 'it''s') returns text language plpgsql stable security definer set search_path = '' as 'begin return b; end';
         create function f3(a int) returns setof funs language sql begin atomic select id from funs; end;
         create procedure p1(inout x int) language plpgsql as 'begin x := 1; end';
         create function used(a int) returns int language sql immutable as 'select a';
         create table uses_function (a int default used(1), check (used(a) > 0)); create index uses_index on uses_function (used(a));
         create function trg() returns trigger language plpgsql as 'begin return new; end';
         create trigger t1 before insert on funs for each row execute function trg();
         revoke execute on function f1(int) from public; grant execute on function f1(int) to anon; comment on function f2 is 'f';",
        "create function f1(a int) returns int language sql as 'select a + 1';
         create function f1(a text) returns text language sql as 'select a';
         create function f2(a int, c text) returns text language plpgsql as 'begin return c; end';
         create function f3(a int) returns setof funs language sql begin atomic select id + 1 from funs; end;
         create function p1(x int) returns int language sql as 'select x';
         create function used(b int) returns int language sql immutable as 'select b';
         create table uses_function (a int default used(1), check (used(a) > 0)); create index uses_index on uses_function (used(a));
         create function trg() returns trigger language plpgsql as 'begin new.id := 1; return new; end';
         create trigger t1 after insert or update of id on funs for each row when (new.id > 1) execute function trg('x');
         alter table funs disable trigger t1; comment on trigger t1 on funs is 't';",
    ),
    case(
        "functions_of_rows",
        "",
        "create table rows1 (id int); create function of_row(r rows1) returns int language sql stable as 'select 1';
         create view of_rows as select of_row(r) as one from rows1 r;",
        "create table rows1 (id int, more text); create function of_row(r rows1) returns text language sql stable as 'select r.more';
         create view of_rows as select of_row(r) as one from rows1 r;",
    ),
    case(
        "default_needs_function_of_table",
        "create table needy (id int);",
        "",
        "create function count_needy() returns bigint language sql stable begin atomic select count(*) from needy; end;
         alter table needy add n bigint default count_needy() not null;",
    ),
    case(
        "aggregates",
        "create function step(s int, v int) returns int language sql immutable as 'select s + coalesce(v, 0)';",
        "create aggregate total(int) (sfunc = step, stype = int, initcond = '0');",
        "create aggregate total(int) (sfunc = step, stype = int, initcond = '1'); comment on aggregate total(int) is 'a';",
    ),
    case(
        "rules_and_statistics",
        "create table ruled (id int, a int);",
        "create rule r as on delete to ruled do instead nothing; create statistics st (dependencies) on id, a from ruled;",
        "create rule r as on delete to ruled do also notify gone; create statistics st (mcv) on id, a from ruled;",
    ),
    case(
        "policies",
        "create table guarded (id int, owner_id uuid); alter table guarded enable row level security;",
        "create policy read on guarded for select to anon using (true);
         create policy \"own \"\"rows\"\"\" on guarded to authenticated using (owner_id is not null) with check (id > 0);
         comment on policy read on guarded is 'p';",
        "create policy read on guarded for select to anon, authenticated using (id > 0);
         create policy never on guarded as restrictive for delete using (false);",
    ),
    case(
        "policies_of_system_tables",
        "",
        "create policy mine on storage.objects for select to anon using (bucket_id = 'a');",
        "create policy mine on storage.objects for select to anon using (bucket_id = 'b');",
    ),
    case(
        "privileges",
        "create table priv (id int, a text, b text); create function priv_f() returns int language sql as 'select 1';
         create type priv_t as enum (); create schema priv_s;",
        "grant select, insert on priv to anon with grant option; grant update (a) on priv to authenticated;
         revoke execute on function priv_f() from public; revoke usage on type priv_t from public; grant usage on schema priv_s to anon;
         revoke update on priv from postgres;",
        "grant select on priv to anon; grant insert on priv to anon with grant option; grant select (a, b) on priv to authenticated;
         grant execute on function priv_f() to anon; grant usage on type priv_t to anon with grant option;",
    ),
    case(
        "default_privileges",
        "",
        "alter default privileges in schema public grant select on tables to anon;
         alter default privileges revoke execute on functions from public;",
        "alter default privileges in schema public grant select, insert on tables to anon with grant option;
         alter default privileges grant usage on schemas to anon; create table by_default (id int);",
    ),
    case(
        "new_objects_under_default_privileges",
        "alter default privileges in schema public grant all on tables to anon, authenticated;
         alter default privileges in schema public revoke execute on functions from anon;",
        "create table plain1 (id int);",
        "create table plain1 (id int); create table closed1 (id serial); revoke all on closed1 from anon;
         create view plain2 as select id from plain1; revoke all on plain2 from anon, authenticated;",
    ),
    case(
        "publications",
        "create table pub_a (id int primary key, v text); create table pub_b (id int primary key);",
        "create publication pub1 for table pub_a (id) where (id > 5), pub_b;",
        "create publication pub1 for table pub_a with (publish = 'insert');",
    ),
    case(
        "text_search",
        "",
        "create text search configuration conf (copy = english);",
        "create text search dictionary syn (template = simple, accept = false); create text search configuration conf (copy = simple);
         alter text search configuration conf alter mapping for asciiword with syn;",
    ),
    case(
        "collations_and_casts",
        "",
        "create collation de (provider = icu, locale = 'de'); create type money2 as (a int);
         create function to_int(m money2) returns int language sql immutable as 'select m.a';
         create cast (money2 as int) with function to_int(money2);",
        "create collation de (provider = icu, locale = 'de-u-kn-true'); create type money2 as (a int);
         create function to_int(m money2) returns int language sql immutable as 'select m.a';
         create cast (money2 as int) with function to_int(money2) as assignment;",
    ),
    case(
        "kinds_under_one_name",
        "",
        "create table same (id int); create function same_f(a int) returns int language sql as 'select 1';",
        "create view same as select 1 as id; create procedure same_f(a int) language sql as 'select 1';",
    ),
    case(
        "swapped_references",
        "",
        "create table left1 (id int primary key); create table right1 (id int primary key, l int references left1);",
        "create table left1 (id int primary key, r int); create table right1 (id int primary key);
         alter table left1 add foreign key (r) references right1;",
    ),
    case(
        "names",
        "create schema \"Odd \"\"s'chema.x\";",
        "create table \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" (\"id \u{1F600}\" int primary key, \"a.b\" text default 'x''\\');
         create index \"i\ndx\" on \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" (\"a.b\");
         create policy \"p is 'q'\" on \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" using (true);
         comment on policy \"p is 'q'\" on \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" is 'it''s \\ \"x\"';
         create function \"Odd \"\"s'chema.x\".\"f$$\"(\"a b\" int) returns text language sql as $f$ select '$$' $f$;
         create type \"Odd \"\"s'chema.x\".\"e \"\" n\" as enum ('a');
         comment on column \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\".\"a.b\" is '; drop table x';",
        "create table \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" (\"id \u{1F600}\" bigint primary key, \"a.b\" text not null, \"select\" int check (\"select\" > 0));
         create function \"Odd \"\"s'chema.x\".\"f$$\"(\"a b\" int) returns int language sql as $f$ select 1 $f$;
         create type \"Odd \"\"s'chema.x\".\"e \"\" n\" as enum ('a', 'b''c');
         grant select (\"a.b\") on \"Odd \"\"s'chema.x\".\"t\u{1}able\n--x; drop\" to anon;",
    ),
];
