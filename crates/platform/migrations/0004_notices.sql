-- Every node is notified of a change to how a project is served, and applies it live.
create function platform.announce_project() returns trigger
language plpgsql
as $$
begin
    perform pg_notify('plinth_platform', coalesce(new.ref, old.ref));
    return null;
end
$$;

create function platform.announce_key() returns trigger
language plpgsql
as $$
begin
    perform pg_notify('plinth_platform', coalesce(new.project, old.project));
    return null;
end
$$;

create trigger announce after insert or delete
    or update of name, status, settings, legacy_keys_enabled, sealed_jwt_secret
    on platform.projects for each row execute function platform.announce_project();

create trigger announce after insert or delete or update of revoked_at, secret_jwt_template
    on platform.api_keys for each row execute function platform.announce_key();

create trigger announce after insert or delete or update of status
    on platform.signing_keys for each row execute function platform.announce_key();
