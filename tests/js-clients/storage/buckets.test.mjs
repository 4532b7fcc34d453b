// Every bucket method of storage-js.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { dataOf, refusal, refusalOf, startStorage } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startStorage();
});
after(() => plinth?.stop());

test("a bucket is created, read, listed, changed, emptied and deleted", async () => {
  const { storage } = plinth.admin;
  const created = await dataOf(
    storage.createBucket("photos", {
      public: true,
      fileSizeLimit: "1mb",
      allowedMimeTypes: ["image/png"],
    }),
  );
  assert.deepEqual(created, { name: "photos" });

  const found = await dataOf(storage.getBucket("photos"));
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

  const listed = await dataOf(storage.listBuckets({ search: "PHOT", limit: 10 }));
  assert.deepEqual(listed.map(({ id, type }) => [id, type]), [["photos", "STANDARD"]]);

  const updated = await dataOf(
    storage.updateBucket("photos", { public: false, fileSizeLimit: null, allowedMimeTypes: null }),
  );
  assert.deepEqual(updated, { message: "Successfully updated" });
  assert.equal((await dataOf(storage.getBucket("photos"))).public, false);

  await dataOf(storage.from("photos").upload("a.txt", "a"));
  assert.deepEqual(
    await refusalOf(storage.deleteBucket("photos")),
    refusal(409, "ResourceNotEmpty", "The bucket you tried to delete is not empty"),
  );
  const emptied = await dataOf(storage.emptyBucket("photos"));
  assert.match(emptied.message, /^Empty bucket has been queued/);
  assert.deepEqual(await dataOf(storage.deleteBucket("photos")), {
    message: "Successfully deleted",
  });
});

test("refusals carry what applications look at", async () => {
  const { storage } = plinth.admin;
  await dataOf(storage.createBucket("taken"));

  assert.deepEqual(
    await refusalOf(storage.createBucket("taken")),
    refusal(409, "BucketAlreadyExists", "The resource already exists"),
  );
  assert.deepEqual(
    await refusalOf(storage.getBucket("none")),
    refusal(404, "NoSuchBucket", "Bucket not found"),
  );
  assert.deepEqual(
    await refusalOf(storage.createBucket("a#b")),
    refusal(400, "InvalidBucketName", "Bucket name invalid"),
  );
  assert.deepEqual(
    await refusalOf(storage.createBucket("big", { fileSizeLimit: "900gb" })),
    refusal(413, "EntityTooLarge", "The object exceeded the maximum allowed size"),
  );
  const anon = plinth.client().storage;
  assert.deepEqual(
    await refusalOf(anon.createBucket("mine")),
    refusal(403, "AccessDenied", "new row violates row-level security policy"),
  );
  assert.deepEqual(await dataOf(anon.listBuckets()), []);
  const empty = await refusalOf(anon.emptyBucket("taken"));
  assert.equal(empty.status, 403);
  assert.equal(empty.statusCode, "403");
});
