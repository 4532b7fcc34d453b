-- The development mailbox: where mails go while no mail server is configured.
--
-- It belongs to Plinth, not to the schema `auth`: nothing of schema `plinth` is exposed, listed or
-- dumped. The auth service may only insert mails, through one function; mails contain sign-in links
-- of all users, so only the server itself may read them.

create table plinth.mailbox (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  sender text not null,
  recipient text not null,
  subject text not null,
  template text not null,
  html text not null,
  text text not null,
  links text[] not null,
  otp text,
  bytes integer not null generated always as (octet_length(html) + octet_length(text)) stored
);
comment on table plinth.mailbox is 'Mails that no mail server took, newest 500.';

create index mailbox_recipient_idx on plinth.mailbox (recipient, id desc);

-- The newest 500 mails are kept, up to 32 MB. Rows locked by another transaction that deletes them
-- are skipped, so that sign-ups do not wait for one another.
create function plinth.keep_mail(
  at timestamptz,
  sender text,
  recipient text,
  subject text,
  template text,
  html text,
  text text,
  links text[],
  otp text
) returns void
language sql
security definer
set search_path = ''
as $$
  with numbered as (
    select
      m.id,
      row_number() over (order by m.id desc) as place,
      sum(m.bytes) over (order by m.id desc) as total
    from plinth.mailbox as m
  ),
  surplus as (
    select m.id
    from plinth.mailbox as m
    where m.id in (select n.id from numbered as n where n.place >= 500 or n.total > 32 * 1048576)
    for update skip locked
  )
  delete from plinth.mailbox as m using surplus where m.id = surplus.id;

  insert into plinth.mailbox
    (at, sender, recipient, subject, template, html, text, links, otp)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9);
$$;

revoke all on function plinth.keep_mail from public;
grant usage on schema plinth to supabase_auth_admin;
grant execute on function plinth.keep_mail to supabase_auth_admin;
