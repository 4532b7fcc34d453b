-- A part that is uploaded again replaces the one before it, and the bytes of parts are kept track of
-- like those of objects: a part's row names them, and when it goes or names others they go, too.

create unique index if not exists s3_multipart_uploads_parts_number
    on storage.s3_multipart_uploads_parts (upload_id, part_number);

-- The unique index does the same work.
drop index if exists storage.idx_multipart_uploads_parts_list;

-- Before bytes are removed, no part may refer to them.
create index if not exists s3_multipart_uploads_parts_version
    on storage.s3_multipart_uploads_parts (version);

create trigger plinth_follow_new_parts
  after insert on storage.s3_multipart_uploads_parts
  for each row
  execute function plinth.follow_objects();

create trigger plinth_follow_changed_parts
  after update of version on storage.s3_multipart_uploads_parts
  for each row
  when (old.version is distinct from new.version)
  execute function plinth.follow_objects();

create trigger plinth_follow_deleted_parts
  after delete on storage.s3_multipart_uploads_parts
  for each row
  execute function plinth.follow_objects();
