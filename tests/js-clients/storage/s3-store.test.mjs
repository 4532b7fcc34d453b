// S3 as the object store: startup errors, and behaviour when the store is unreachable.

import assert from "node:assert/strict";
import { test } from "node:test";

import { startPlinth } from "../support/plinth.mjs";
import { expectData, startStorage } from "./support.mjs";

const skip = process.env.PLINTH_TESTSTORE_BIN ? false : "files are in a folder in this run";

test("a start says that the bucket is missing", { skip }, async () => {
  const started = startPlinth({ env: { PLINTH_STORAGE_S3_BUCKET: "elsewhere" } });
  await assert.rejects(started, /the S3 store has no bucket named elsewhere/);
});

test("a start reports that the keys are rejected, and does not show the keys", { skip }, async () => {
  const env = { PLINTH_STORAGE_S3_SECRET_KEY: "one-that-nobody-may-read" };
  await assert.rejects(startPlinth({ env }), (error) => {
    assert.match(error.message, /the S3 store rejects .*: SignatureDoesNotMatch/);
    assert.doesNotMatch(error.message, /one-that-nobody-may-read/);
    return true;
  });
});

test("a start does not wait for a store that is not there", { skip }, async () => {
  const env = { PLINTH_STORAGE_S3_ENDPOINT: "http://127.0.0.1:1" };
  const plinth = await startPlinth({ env });
  try {
    assert.match(plinth.log(), /files are unavailable until the S3 store recovers/);
    const response = await fetch(`${plinth.apiUrl}/storage/v1/status`);
    assert.equal(response.status, 200);
  } finally {
    await plinth.stop();
  }
});

test("what needs no bytes goes on without the store", { skip }, async () => {
  const plinth = await startStorage();
  try {
    const files = await plinth.bucket("files");
    await expectData(files.upload("kept.txt", "kept"));
    await plinth.store.stop();

    for (const rejected of [files.download("kept.txt"), files.upload("new.txt", "new")]) {
      const { error } = await rejected;
      assert.equal(error?.status ?? error?.originalError?.status, 500);
    }

    const listed = await expectData(files.list());
    assert.deepEqual(listed.map(({ name }) => name), ["kept.txt"]);
    await expectData(files.move("kept.txt", "moved.txt"));
    await expectData(files.remove(["moved.txt"]));
  } finally {
    await plinth.stop();
  }
});
