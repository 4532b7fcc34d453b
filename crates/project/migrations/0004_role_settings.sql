-- Settings of the roles that callers have (`statement_timeout` of anon, `pgrst.*` of authenticator)
-- for this project alone. The roles belong to the whole cluster, and each of them may change its own
-- entries in `pg_db_role_setting`, for any database; so what counts is this table, which only these
-- functions write. They also make the entry for this database, where tools look for it, and so that
-- PostgreSQL itself checks name and value. Owners' statements are rewritten to call them.
create schema plinth_roles;
grant usage on schema plinth_roles to public;

create table plinth_roles.settings (
    role text not null,
    name text not null,
    value text not null,
    primary key (role, name)
);
-- No secret: PostgreSQL shows `pg_db_role_setting` to everybody too.
grant select on plinth_roles.settings to public;

-- What an earlier version wrote as entries of this database, then the defaults.
insert into plinth_roles.settings (role, name, value)
select r.rolname, split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1)
from pg_catalog.pg_db_role_setting s
join pg_catalog.pg_roles r on r.oid = s.setrole
join pg_catalog.pg_database d on d.oid = s.setdatabase
cross join lateral unnest(s.setconfig) entry
where d.datname = current_database()
  and r.rolname in ('anon', 'authenticated', 'service_role', 'authenticator')
on conflict do nothing;

insert into plinth_roles.settings (role, name, value)
values ('anon', 'statement_timeout', '3s'),
       ('authenticated', 'statement_timeout', '8s'),
       ('authenticator', 'statement_timeout', '8s')
on conflict do nothing;

create function plinth_roles.is_shared(role_name text) returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
return role_name in ('anon', 'authenticated', 'service_role', 'authenticator', 'postgres');

-- The ref of the project whose owner this session is; null for an administrating role.
create function plinth_roles.session_ref() returns text
language sql stable
set search_path = pg_catalog, pg_temp
return (regexp_match(session_user, '^(?:owner|migrator)_([a-z]{20})$'))[1];

-- Sessions of callers and services run users' code too, and must not change anything.
create function plinth_roles.check_session() returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if not pg_has_role(session_user, 'postgres', 'member') then
        raise exception 'permission denied to alter role'
            using errcode = 'insufficient_privilege',
                  detail = 'Only the owner of the project may change its roles.';
    end if;
end
$$;

-- The name as SQL. Only what every session may set: settings of roles are made with the rights of a
-- superuser.
create function plinth_roles.checked_name(setting_name text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    known text;
    prefix text := lower(split_part(setting_name, '.', 1));
begin
    if setting_name !~ '^[[:alpha:]_][[:alnum:]_$]*(\.[[:alpha:]_][[:alnum:]_$]*)*$' then
        raise exception 'invalid configuration parameter name "%"', setting_name
            using errcode = 'invalid_name';
    end if;
    select s.context into known from pg_settings s where lower(s.name) = lower(setting_name);
    if known is null and strpos(setting_name, '.') = 0 then
        raise exception 'unrecognized configuration parameter "%"', setting_name
            using errcode = 'undefined_object';
    end if;
    -- A setting of a library that is loaded later would get its value with a superuser's rights.
    if known <> 'user' or known is null and (
        exists (select from pg_available_extensions e where lower(e.name) = prefix)
        or prefix in ('auto_explain', 'auth_delay', 'basic_archive', 'passwordcheck', 'plperl',
                      'plpgsql', 'plpython', 'plpython3', 'pltcl', 'sepgsql')
    ) then
        raise exception 'permission denied to set parameter "%"', setting_name
            using errcode = 'insufficient_privilege';
    end if;
    return (
        select string_agg(quote_ident(lower(part)), '.' order by at)
        from unnest(string_to_array(setting_name, '.')) with ordinality parts (part, at)
    );
end
$$;

-- Whose entry it is. Nobody logs in as `postgres`: what is meant are the owner's sessions.
create function plinth_roles.checked_role(role_name text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if role_name = 'postgres' then
        return coalesce('owner_' || plinth_roles.session_ref(), role_name);
    elsif plinth_roles.is_shared(role_name) then
        return role_name;
    end if;
    raise exception 'permission denied to alter role'
        using errcode = 'insufficient_privilege';
end
$$;

create function plinth_roles.set_setting(role_name text, setting_name text, new_value text[]) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    target text := plinth_roles.checked_role(role_name);
    quoted text;
begin
    perform plinth_roles.check_session();
    quoted := (select string_agg(quote_literal(v), ', ' order by at)
               from unnest(new_value) with ordinality given (v, at));
    execute format('alter role %I in database %I set %s to %s', target, current_database(),
        plinth_roles.checked_name(setting_name), quoted);
    if role_name <> 'postgres' then
        insert into plinth_roles.settings as known (role, name, value)
        select role_name, split_part(entry, '=', 1), substr(entry, strpos(entry, '=') + 1)
        from pg_db_role_setting s
        join pg_roles r on r.oid = s.setrole
        join pg_database d on d.oid = s.setdatabase
        cross join lateral unnest(s.setconfig) entry
        where d.datname = current_database() and r.rolname = role_name
          and lower(split_part(entry, '=', 1)) = lower(setting_name)
        on conflict (role, name) do update set value = excluded.value;
    end if;
    perform pg_notify('pgrst', 'reload config');
end
$$;

create function plinth_roles.reset_setting(role_name text, setting_name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    target text := plinth_roles.checked_role(role_name);
begin
    perform plinth_roles.check_session();
    execute format('alter role %I in database %I reset %s', target, current_database(),
        plinth_roles.checked_name(setting_name));
    delete from plinth_roles.settings s where s.role = role_name and lower(s.name) = lower(setting_name);
    perform pg_notify('pgrst', 'reload config');
end
$$;

create function plinth_roles.reset_all(role_name text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    target text := plinth_roles.checked_role(role_name);
    quoted text;
begin
    perform plinth_roles.check_session();
    -- One by one: the owner's sessions start as `postgres`, which is such a setting too.
    for quoted in
        select (select string_agg(quote_ident(part), '.' order by at)
                from unnest(string_to_array(split_part(entry, '=', 1), '.'))
                    with ordinality parts (part, at))
        from pg_db_role_setting s
        join pg_roles r on r.oid = s.setrole
        join pg_database d on d.oid = s.setdatabase
        cross join lateral unnest(s.setconfig) entry
        where d.datname = current_database() and r.rolname = target and entry not like 'role=%'
    loop
        execute format('alter role %I in database %I reset %s', target, current_database(), quoted);
    end loop;
    delete from plinth_roles.settings s where s.role = role_name;
    perform pg_notify('pgrst', 'reload config');
end
$$;

-- `alter role postgres password …`: the password with which the owner connects. The administrating
-- role of an external server has none of Plinth's.
create function plinth_roles.set_password(password text) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set password_encryption = 'scram-sha-256'
as $$
declare
    ref text := plinth_roles.session_ref();
begin
    perform plinth_roles.check_session();
    if ref is null then
        raise exception 'permission denied to alter role'
            using errcode = 'insufficient_privilege',
                  detail = 'This session is not one of a project''s owner.';
    end if;
    execute format('alter role %I password %L', 'owner_' || ref, password);
end
$$;
