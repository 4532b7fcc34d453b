-- State of sign-in flows until the callback from a provider or the link of a mail.
--
-- Rows live for minutes and are deleted by age, hence the indexes on created_at. `flow_state` names
-- its user and its provider state without foreign keys: a flow begins before either exists.

set local role supabase_auth_admin;

create type auth.code_challenge_method as enum ('s256', 'plain');

create table auth.flow_state (
  id uuid not null,
  user_id uuid,
  auth_code text,
  code_challenge_method auth.code_challenge_method,
  code_challenge text,
  provider_type text not null,
  provider_access_token text,
  provider_refresh_token text,
  created_at timestamptz,
  updated_at timestamptz,
  authentication_method text not null,
  auth_code_issued_at timestamptz,
  invite_token text,
  referrer text,
  oauth_client_state_id uuid,
  linking_target_id uuid,
  email_optional boolean not null default false,
  constraint flow_state_pkey primary key (id)
);
comment on table auth.flow_state is 'Sign-ins under way: PKCE challenges and provider round trips.';

create index idx_auth_code on auth.flow_state (auth_code);
create index idx_user_id_auth_method on auth.flow_state (user_id, authentication_method);
create index flow_state_created_at_idx on auth.flow_state (created_at desc);

alter table auth.flow_state enable row level security;

create table auth.oauth_client_states (
  id uuid not null,
  provider_type text not null,
  code_verifier text,
  created_at timestamptz not null,
  constraint oauth_client_states_pkey primary key (id)
);
comment on table auth.oauth_client_states is
  'Our own PKCE secrets towards providers at which we are the client.';

create index idx_oauth_client_states_created_at on auth.oauth_client_states (created_at);

alter table auth.oauth_client_states enable row level security;
