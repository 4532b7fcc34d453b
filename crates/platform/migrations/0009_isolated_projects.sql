-- Projects of people who do not trust each other: an isolated project has a PostgreSQL server of its
-- own, named after it, where its branches are as well. Null: the server that all others share.
alter table platform.projects add column server text check (server ~ '^[a-z]{20}$');
create index projects_of_a_server on platform.projects (server) where server is not null;
