// Every bucket method of storage-js.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { apiError, expectData, expectError, startStorage } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startStorage();
});
after(() => plinth?.stop());

test("a bucket is created, read, listed, changed, emptied and deleted", async () => {
  const { storage } = plinth.admin;
  const created = await expectData(
    storage.createBucket("photos", {
      public: true,
      fileSizeLimit: "1mb",
      allowedMimeTypes: ["image/png"],
    }),
  );
  assert.deepEqual(created, { name: "photos" });

  const found = await expectData(storage.getBucket("photos"));
  const { created_at, updated_at, ...rest } = found;
  assert.match(created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.match(updated_at, /Z$/);
  assert.deepEqual(rest, {
    id: "photos",
    name: "photos",
    owner: "",
    public: true,
    file_size_limit: 1_000_000,
    allowed_mime_types: ["image/png"],
  });

  const listed = await expectData(storage.listBuckets({ search: "PHOT", limit: 10 }));
  assert.deepEqual(listed.map(({ id, type }) => [id, type]), [["photos", "STANDARD"]]);

  const updated = await expectData(
    storage.updateBucket("photos", { public: false, fileSizeLimit: null, allowedMimeTypes: null }),
  );
  assert.deepEqual(updated, { message: "Successfully updated" });
  assert.equal((await expectData(storage.getBucket("photos"))).public, false);

  await expectData(storage.from("photos").upload("a.txt", "a"));
  assert.deepEqual(
    await expectError(storage.deleteBucket("photos")),
    apiError(409, "ResourceNotEmpty", "The bucket you tried to delete is not empty"),
  );
  const emptied = await expectData(storage.emptyBucket("photos"));
  assert.match(emptied.message, /^Empty bucket has been queued/);
  assert.deepEqual(await expectData(storage.deleteBucket("photos")), {
    message: "Successfully deleted",
  });
});

test("errors carry what applications look at", async () => {
  const { storage } = plinth.admin;
  await expectData(storage.createBucket("taken"));

  assert.deepEqual(
    await expectError(storage.createBucket("taken")),
    apiError(409, "BucketAlreadyExists", "The resource already exists"),
  );
  assert.deepEqual(
    await expectError(storage.getBucket("none")),
    apiError(404, "NoSuchBucket", "Bucket not found"),
  );
  assert.deepEqual(
    await expectError(storage.createBucket("a#b")),
    apiError(400, "InvalidBucketName", "Bucket name invalid"),
  );
  assert.deepEqual(
    await expectError(storage.createBucket("big", { fileSizeLimit: "900gb" })),
    apiError(413, "EntityTooLarge", "The object exceeded the maximum allowed size"),
  );
  const anon = plinth.client().storage;
  assert.deepEqual(
    await expectError(anon.createBucket("mine")),
    apiError(403, "AccessDenied", "new row violates row-level security policy"),
  );
  assert.deepEqual(await expectData(anon.listBuckets()), []);
  const empty = await expectError(anon.emptyBucket("taken"));
  assert.equal(empty.status, 403);
  assert.equal(empty.statusCode, "403");
});
