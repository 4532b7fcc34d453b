create table public.notes (id int primary key, text text not null);
insert into public.notes select n, 'note ' || n from generate_series(1, 1000) as n;
alter table public.notes enable row level security;
create policy "everybody reads" on public.notes for select using (true);
grant select on public.notes to anon;
