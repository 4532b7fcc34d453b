-- What only newer servers have.
create table "select".newer (
    id int constraint "named not null" not null,
    other int,
    twice int generated always as (id * 2) virtual,
    during daterange,
    constraint never check (other > 0) not enforced,
    primary key (id, during without overlaps)
);
insert into "select".newer (id, other, during) values (1, null, '[2020-01-01,2021-01-01)');
alter table "select".newer add constraint later not null other not valid;
create table "select".heir (more int, constraint "own name" not null other) inherits ("select".newer);
create publication generated for table "select".newer with (publish_generated_columns = stored);
grant maintain on "select".newer to anon;
create table "select".counted (id int generated always as identity, part int) partition by list (part);
create table "select".counted_1 partition of "select".counted for values in (1);
insert into "select".counted (part) values (1), (1);
