-- Who makes an object of the parts of an upload (S3 protocol), and until when that may take.
--
-- Putting parts together takes as long as it takes, and clients that wait in vain ask again, perhaps
-- another node. The bytes are put together once; that there is one object in the end is for the
-- transaction to see to that ends the upload.

create table plinth.multipart_completion (
  upload_id text primary key,
  lease_id uuid not null,
  lease_until timestamptz not null
);
comment on table plinth.multipart_completion is 'Uploads in parts that are being completed.';

grant select, insert, update, delete on plinth.multipart_completion to plinth_storage;
