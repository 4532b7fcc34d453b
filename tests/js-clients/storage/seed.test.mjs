// Buckets and objects that are seeded from the project folder.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { startPlinth } from "../support/plinth.mjs";

const config = `
[storage.buckets.pictures]
public = true
file_size_limit = "1MiB"
allowed_mime_types = ["image/png", "text/plain"]
objects_path = "./pictures"

[storage.buckets.empty]
`;

let plinth;
let storage;
before(async () => {
  plinth = await startPlinth({
    files: {
      "supabase/config.toml": config,
      "supabase/pictures/hello.txt": "hello",
      "supabase/pictures/deep/er/dot.png": "not really",
      "supabase/pictures/.hidden": "nothing",
    },
  });
  storage = createClient(plinth.apiUrl, plinth.keys.secret).storage;
});
after(() => plinth?.stop());

test("buckets are as the configuration says", async () => {
  const { data } = await storage.listBuckets();
  const facts = data.map(({ id, public: isPublic, file_size_limit, allowed_mime_types }) => [
    id,
    isPublic,
    file_size_limit,
    allowed_mime_types,
  ]);
  assert.deepEqual(facts, [
    ["empty", false, null, null],
    ["pictures", true, 1024 * 1024, ["image/png", "text/plain"]],
  ]);
});

test("files are in the bucket, with the types of their extensions", async () => {
  const { data } = await storage.from("pictures").listV2();
  const facts = data.objects.map(({ name, metadata }) => [name, metadata.mimetype, metadata.size]);
  assert.deepEqual(facts, [
    ["deep/er/dot.png", "image/png", 10],
    ["hello.txt", "text/plain", 5],
  ]);
  const hello = await fetch(storage.from("pictures").getPublicUrl("hello.txt").data.publicUrl);
  assert.equal(await hello.text(), "hello");
});
