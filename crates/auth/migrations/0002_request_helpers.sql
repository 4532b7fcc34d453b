-- Helper functions of policies about the caller of the request.
--
-- The claims arrive as settings of the transaction: one JSON document in `request.jwt.claims`, or,
-- from older callers, one setting per claim, which takes precedence. Outside a request a setting is
-- unset, or empty if an earlier transaction of the same session had set it; both mean NULL.
--
-- The bodies are parsed when they are created, so a caller's search_path cannot redirect them, and
-- they have no SET clause, so the planner still inlines them. `parallel safe` matters: without it
-- no query under such a policy could ever use a parallel plan.

set local role supabase_auth_admin;

create function auth.uid()
  returns uuid
  language sql
  stable
  parallel safe
  return coalesce(
    nullif(current_setting('request.jwt.claim.sub', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub'
  )::uuid;

create function auth.role()
  returns text
  language sql
  stable
  parallel safe
  return coalesce(
    nullif(current_setting('request.jwt.claim.role', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'role'
  );

create function auth.email()
  returns text
  language sql
  stable
  parallel safe
  return coalesce(
    nullif(current_setting('request.jwt.claim.email', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'email'
  );

create function auth.jwt()
  returns jsonb
  language sql
  stable
  parallel safe
  return coalesce(
    nullif(current_setting('request.jwt.claim', true), ''),
    nullif(current_setting('request.jwt.claims', true), '')
  )::jsonb;

comment on function auth.uid() is 'Id of the signed-in user, or NULL.';
comment on function auth.role() is 'Role the caller''s token asks for, or NULL.';
comment on function auth.email() is 'E-mail address in the caller''s token, or NULL.';
comment on function auth.jwt() is 'All claims of the caller''s token, or NULL.';
