// Uploads, downloads and signed URLs with storage-js, with every body type.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { apiError, expectData, expectError, startStorage, textOf } from "./support.mjs";

let plinth;
before(async () => {
  plinth = await startStorage();
});
after(() => plinth?.stop());

const bodies = {
  string: () => "hello",
  Blob: () => new Blob(["hello"], { type: "text/plain" }),
  File: () => new File(["hello"], "hello.txt", { type: "text/plain" }),
  Buffer: () => Buffer.from("hello"),
  ArrayBuffer: () => new TextEncoder().encode("hello").buffer,
  FormData: () => {
    const form = new FormData();
    form.append("file", new Blob(["hello"], { type: "text/plain" }), "hello.txt");
    return form;
  },
  URLSearchParams: () => new URLSearchParams("hello"),
  ReadableStream: () => new Blob(["hel", "lo"]).stream(),
};

test("every kind of body arrives as it was", async () => {
  const files = await plinth.bucket("bodies", { public: true });
  for (const [kind, body] of Object.entries(bodies)) {
    const path = `folder/${kind}.txt`;
    const uploaded = await expectData(
      files.upload(path, body(), {
        contentType: "text/plain",
        cacheControl: "60",
        metadata: { kind },
        duplex: "half",
      }),
    );
    assert.equal(uploaded.path, path);
    assert.equal(uploaded.fullPath, `bodies/${path}`);
    assert.match(uploaded.id, /^[0-9a-f-]{36}$/);
    const expected = kind === "URLSearchParams" ? "hello=" : "hello";
    assert.equal(await textOf(files.download(path)), expected, kind);
    const info = await expectData(files.info(path));
    assert.equal(info.id, uploaded.id);
    assert.equal(info.size, expected.length, kind);
    assert.deepEqual(info.metadata, { kind }, kind);
    assert.equal(info.cacheControl, "max-age=60", kind);
    assert.match(info.contentType, /^text\/plain/, kind);
    assert.equal(info.bucketId, "bodies");
  }
});

test("a name is taken once, unless the upload may replace", async () => {
  const files = await plinth.bucket("once");
  await expectData(files.upload("a.txt", "one"));

  assert.deepEqual(
    await expectError(files.upload("a.txt", "two")),
    apiError(409, "KeyAlreadyExists", "The resource already exists"),
  );
  await expectData(files.upload("a.txt", "three", { upsert: true }));
  assert.equal(await textOf(files.download("a.txt")), "three");
  await expectData(files.update("a.txt", "four"));
  await expectData(files.update("new.txt", "created"));
  assert.equal(await textOf(files.download("a.txt")), "four");
  assert.equal(await textOf(files.download("new.txt")), "created");
});

test("a bucket's limits have distinct errors", async () => {
  const files = await plinth.bucket("limits", {
    fileSizeLimit: 4,
    allowedMimeTypes: ["text/plain"],
  });
  const stream = () => new Blob(["12345"]).stream();
  for (const body of ["12345", new Blob(["12345"], { type: "text/plain" })]) {
    assert.deepEqual(
      await expectError(files.upload("a.txt", body, { contentType: "text/plain" })),
      apiError(413, "EntityTooLarge", "The object exceeded the maximum allowed size"),
    );
  }
  const streamed = await expectError(
    files.upload("a.txt", stream(), { contentType: "text/plain", duplex: "half" }),
  );
  assert.equal(streamed.statusCode, "413");
  assert.deepEqual(
    await expectError(files.upload("a.html", "x", { contentType: "text/html" })),
    apiError(415, "InvalidMimeType", "mime type text/html is not supported"),
  );
  await expectData(files.upload("ok.txt", "1234"));
});

test("what is missing is missing, and what exists exists", async () => {
  const files = await plinth.bucket("missing");
  await expectData(files.upload("a.txt", "x"));

  assert.equal((await files.exists("a.txt")).data, true);
  assert.equal((await files.exists("b.txt")).data, false);
  // The client requests the object's info, which distinguishes a missing object from a missing bucket.
  await assert.rejects(plinth.admin.storage.from("none").exists("a.txt"), { code: "NoSuchBucket" });
  assert.equal((await plinth.client().storage.from("missing").exists("a.txt")).data, false);
  assert.deepEqual(
    await expectError(files.info("b.txt")),
    apiError(404, "NoSuchKey", "Object not found"),
  );
  const { error } = await files.download("b.txt");
  assert.ok(error);
  assert.deepEqual(
    await expectError(plinth.admin.storage.from("none").upload("a", "x")),
    apiError(404, "NoSuchBucket", "Bucket not found"),
  );
  assert.deepEqual(
    await expectError(files.upload("bad~key", "x")),
    apiError(400, "InvalidKey", "Invalid key: bad~key"),
  );
});

test("a public URL works for a public bucket, and not for a private one", async () => {
  const open = await plinth.bucket("open", { public: true });
  const shut = await plinth.bucket("shut");
  for (const files of [open, shut]) await expectData(files.upload("a b.txt", "hello"));
  const url = (files, options) => files.getPublicUrl("a b.txt", options).data.publicUrl;

  const response = await fetch(url(open));
  assert.equal(await response.text(), "hello");
  assert.equal(response.headers.get("etag"), '"5d41402abc4b2a76b9719d911017c592"');
  const named = await fetch(url(open, { download: "my file.txt" }));
  assert.equal(
    named.headers.get("content-disposition"),
    "attachment; filename=my%20file.txt; filename*=UTF-8''my%20file.txt",
  );
  const part = await fetch(url(open), { headers: { range: "bytes=1-2" } });
  assert.deepEqual([part.status, await part.text()], [206, "el"]);
  const rejected = await fetch(url(shut));
  assert.equal(rejected.status, 400);
  assert.equal((await rejected.json()).code, "NoSuchBucket");
});

test("a signed URL opens one object for a while", async () => {
  const files = await plinth.bucket("signed");
  for (const path of ["a b.txt", "c+d.txt"]) await expectData(files.upload(path, path));

  const { signedUrl } = await expectData(files.createSignedUrl("a b.txt", 60, { download: true }));
  const response = await fetch(signedUrl);
  assert.equal(await response.text(), "a b.txt");
  assert.equal(response.headers.get("content-disposition"), "attachment;");
  assert.equal(response.headers.get("cache-control"), null);
  assert.ok(response.headers.get("expires"));

  const many = await expectData(files.createSignedUrls(["c+d.txt", "none", "a b.txt"], 60));
  assert.deepEqual(many.map(({ path, error }) => [path, error]), [
    ["c+d.txt", null],
    ["none", "Either the object does not exist or you do not have access to it"],
    ["a b.txt", null],
  ]);
  assert.equal(await (await fetch(many[0].signedUrl)).text(), "c+d.txt");
  assert.deepEqual(
    await expectError(files.createSignedUrl("none", 60)),
    apiError(404, "NoSuchKey", "Object not found"),
  );
  const changed = await fetch(signedUrl.replace("a%20b", "c+d"));
  assert.equal((await changed.json()).code, "InvalidSignature");
});

test("a signed upload URL works without further authorization", async () => {
  const files = await plinth.bucket("handed");
  const anonymous = plinth.client().storage.from("handed");

  const { path, token, signedUrl } = await expectData(files.createSignedUploadUrl("in/a.txt"));
  assert.equal(path, "in/a.txt");
  assert.ok(signedUrl.includes(token));
  const uploaded = await expectData(anonymous.uploadToSignedUrl(path, token, "handed in"));
  assert.equal(uploaded.fullPath, "handed/in/a.txt");
  assert.equal(await textOf(files.download(path)), "handed in");
  assert.deepEqual(
    await expectError(anonymous.uploadToSignedUrl(path, token, "again", { upsert: true })),
    apiError(409, "KeyAlreadyExists", "The resource already exists"),
  );
  const often = await expectData(files.createSignedUploadUrl(path, { upsert: true }));
  await expectData(anonymous.uploadToSignedUrl(path, often.token, new Blob(["replaced"])));
  assert.equal(await textOf(files.download(path)), "replaced");
  const elsewhere = await expectError(anonymous.uploadToSignedUrl("in/b.txt", often.token, "x"));
  assert.equal(elsewhere.code, "InvalidSignature");
});

test("objects are moved, copied and removed", async () => {
  const files = await plinth.bucket("moving");
  const other = await plinth.bucket("elsewhere");
  await expectData(files.upload("a.txt", "hello", { metadata: { colour: "red" } }));

  assert.deepEqual(await expectData(files.move("a.txt", "b/c.txt")), { message: "Successfully moved" });
  const copied = await expectData(files.copy("b/c.txt", "d.txt", { destinationBucket: "elsewhere" }));
  assert.deepEqual(copied, { path: "elsewhere/d.txt" });
  assert.equal(await textOf(other.download("d.txt")), "hello");
  assert.deepEqual((await expectData(other.info("d.txt"))).metadata, { colour: "red" });
  assert.deepEqual(
    await expectError(files.move("none", "x")),
    apiError(404, "NoSuchKey", "Object not found"),
  );
  await expectData(files.upload("taken", "x"));
  assert.equal((await expectError(files.move("b/c.txt", "taken"))).code, "ResourceAlreadyExists");
  const removed = await expectData(files.remove(["b/c.txt", "none", "taken"]));
  assert.deepEqual(removed.map(({ name }) => name).sort(), ["b/c.txt", "taken"]);
  assert.equal((await files.exists("taken")).data, false);
});
