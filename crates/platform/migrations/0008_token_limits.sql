-- A token may have less than an operator's rights (scopes and projects were there before), and be
-- made by another one, with which it ends.
alter table platform.tokens add column read_only boolean not null default false;
alter table platform.tokens add column parent_id uuid references platform.tokens (id);
