// Listing with storage-js: by folder and offset, and by cursor.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { expectData, startStorage } from "./support.mjs";

let plinth;
let files;
before(async () => {
  plinth = await startStorage();
  files = await plinth.bucket("files");
  for (const path of ["a.txt", "b/one.txt", "b/two.txt", "b/deep/three.txt", "c.txt"]) {
    await expectData(files.upload(path, path));
  }
});
after(() => plinth?.stop());

test("a folder is listed with its folders and its files", async () => {
  const names = async (...args) => (await expectData(files.list(...args))).map(({ name }) => name);

  assert.deepEqual(await names(), ["a.txt", "b", "c.txt"]);
  assert.deepEqual(await names("b"), ["deep", "one.txt", "two.txt"]);
  assert.deepEqual(await names("b", { search: "t" }), ["two.txt"]);
  assert.deepEqual(await names("", { limit: 1, offset: 1 }), ["b"]);
  const newest = { sortBy: { column: "created_at", order: "desc" } };
  assert.deepEqual(await names("", newest), ["b", "c.txt", "a.txt"]);
  assert.deepEqual(await expectData(plinth.admin.storage.from("none").list()), []);

  const [file, folder] = await expectData(files.list());
  assert.equal(file.metadata.size, 5);
  assert.equal(file.metadata.mimetype, "text/plain;charset=UTF-8");
  assert.deepEqual([folder.id, folder.metadata], [null, null]);
});

test("a cursor leads through everything", async () => {
  const seen = [];
  let cursor;
  do {
    const page = await expectData(files.listV2({ limit: 2, cursor, with_delimiter: true }));
    seen.push(...page.folders.map(({ name }) => name), ...page.objects.map(({ name }) => name));
    cursor = page.hasNext ? page.nextCursor : undefined;
  } while (cursor);
  assert.deepEqual(seen.sort(), ["a.txt", "b/", "c.txt"]);

  const flat = await expectData(files.listV2({ prefix: "b/" }));
  assert.equal(flat.hasNext, false);
  assert.deepEqual(flat.folders, []);
  assert.deepEqual(flat.objects.map(({ name }) => name), [
    "b/deep/three.txt",
    "b/one.txt",
    "b/two.txt",
  ]);
});
