// Uploads, downloads and links of storage-js, with every kind of body that it takes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { dataOf, refusal, refusalOf, startStorage, textOf } from "./support.mjs";

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
    const uploaded = await dataOf(
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
    const info = await dataOf(files.info(path));
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
  await dataOf(files.upload("a.txt", "one"));

  assert.deepEqual(
    await refusalOf(files.upload("a.txt", "two")),
    refusal(409, "KeyAlreadyExists", "The resource already exists"),
  );
  await dataOf(files.upload("a.txt", "three", { upsert: true }));
  assert.equal(await textOf(files.download("a.txt")), "three");
  await dataOf(files.update("a.txt", "four"));
  await dataOf(files.update("new.txt", "created"));
  assert.equal(await textOf(files.download("a.txt")), "four");
  assert.equal(await textOf(files.download("new.txt")), "created");
});

test("a bucket's limits are told apart", async () => {
  const files = await plinth.bucket("limits", {
    fileSizeLimit: 4,
    allowedMimeTypes: ["text/plain"],
  });
  const stream = () => new Blob(["12345"]).stream();
  for (const body of ["12345", new Blob(["12345"], { type: "text/plain" })]) {
    assert.deepEqual(
      await refusalOf(files.upload("a.txt", body, { contentType: "text/plain" })),
      refusal(413, "EntityTooLarge", "The object exceeded the maximum allowed size"),
    );
  }
  const streamed = await refusalOf(
    files.upload("a.txt", stream(), { contentType: "text/plain", duplex: "half" }),
  );
  assert.equal(streamed.statusCode, "413");
  assert.deepEqual(
    await refusalOf(files.upload("a.html", "x", { contentType: "text/html" })),
    refusal(415, "InvalidMimeType", "mime type text/html is not supported"),
  );
  await dataOf(files.upload("ok.txt", "1234"));
});

test("what is missing is missing, and what exists exists", async () => {
  const files = await plinth.bucket("missing");
  await dataOf(files.upload("a.txt", "x"));

  assert.equal((await files.exists("a.txt")).data, true);
  assert.equal((await files.exists("b.txt")).data, false);
  // The client asks for the object's info, and tells a missing object from a missing bucket.
  await assert.rejects(plinth.admin.storage.from("none").exists("a.txt"), { code: "NoSuchBucket" });
  assert.equal((await plinth.client().storage.from("missing").exists("a.txt")).data, false);
  assert.deepEqual(
    await refusalOf(files.info("b.txt")),
    refusal(404, "NoSuchKey", "Object not found"),
  );
  const { error } = await files.download("b.txt");
  assert.ok(error);
  assert.deepEqual(
    await refusalOf(plinth.admin.storage.from("none").upload("a", "x")),
    refusal(404, "NoSuchBucket", "Bucket not found"),
  );
  assert.deepEqual(
    await refusalOf(files.upload("bad~key", "x")),
    refusal(400, "InvalidKey", "Invalid key: bad~key"),
  );
});

test("a public URL is for everybody, and a private one is for nobody", async () => {
  const open = await plinth.bucket("open", { public: true });
  const shut = await plinth.bucket("shut");
  for (const files of [open, shut]) await dataOf(files.upload("a b.txt", "hello"));
  const url = (files, options) => files.getPublicUrl("a b.txt", options).data.publicUrl;

  const answer = await fetch(url(open));
  assert.equal(await answer.text(), "hello");
  assert.equal(answer.headers.get("etag"), '"5d41402abc4b2a76b9719d911017c592"');
  const named = await fetch(url(open, { download: "my file.txt" }));
  assert.equal(
    named.headers.get("content-disposition"),
    "attachment; filename=my%20file.txt; filename*=UTF-8''my%20file.txt",
  );
  const part = await fetch(url(open), { headers: { range: "bytes=1-2" } });
  assert.deepEqual([part.status, await part.text()], [206, "el"]);
  const refused = await fetch(url(shut));
  assert.equal(refused.status, 400);
  assert.equal((await refused.json()).code, "NoSuchBucket");
});

test("a signed URL opens one object for a while", async () => {
  const files = await plinth.bucket("signed");
  for (const path of ["a b.txt", "c+d.txt"]) await dataOf(files.upload(path, path));

  const { signedUrl } = await dataOf(files.createSignedUrl("a b.txt", 60, { download: true }));
  const answer = await fetch(signedUrl);
  assert.equal(await answer.text(), "a b.txt");
  assert.equal(answer.headers.get("content-disposition"), "attachment;");
  assert.equal(answer.headers.get("cache-control"), null);
  assert.ok(answer.headers.get("expires"));

  const many = await dataOf(files.createSignedUrls(["c+d.txt", "none", "a b.txt"], 60));
  assert.deepEqual(many.map(({ path, error }) => [path, error]), [
    ["c+d.txt", null],
    ["none", "Either the object does not exist or you do not have access to it"],
    ["a b.txt", null],
  ]);
  assert.equal(await (await fetch(many[0].signedUrl)).text(), "c+d.txt");
  assert.deepEqual(
    await refusalOf(files.createSignedUrl("none", 60)),
    refusal(404, "NoSuchKey", "Object not found"),
  );
  const changed = await fetch(signedUrl.replace("a%20b", "c+d"));
  assert.equal((await changed.json()).code, "InvalidSignature");
});

test("a signed upload is done by somebody without a key", async () => {
  const files = await plinth.bucket("handed");
  const nobody = plinth.client().storage.from("handed");

  const { path, token, signedUrl } = await dataOf(files.createSignedUploadUrl("in/a.txt"));
  assert.equal(path, "in/a.txt");
  assert.ok(signedUrl.includes(token));
  const uploaded = await dataOf(nobody.uploadToSignedUrl(path, token, "handed in"));
  assert.equal(uploaded.fullPath, "handed/in/a.txt");
  assert.equal(await textOf(files.download(path)), "handed in");
  assert.deepEqual(
    await refusalOf(nobody.uploadToSignedUrl(path, token, "again", { upsert: true })),
    refusal(409, "KeyAlreadyExists", "The resource already exists"),
  );
  const often = await dataOf(files.createSignedUploadUrl(path, { upsert: true }));
  await dataOf(nobody.uploadToSignedUrl(path, often.token, new Blob(["replaced"])));
  assert.equal(await textOf(files.download(path)), "replaced");
  const elsewhere = await refusalOf(nobody.uploadToSignedUrl("in/b.txt", often.token, "x"));
  assert.equal(elsewhere.code, "InvalidSignature");
});

test("objects are moved, copied and removed", async () => {
  const files = await plinth.bucket("moving");
  const other = await plinth.bucket("elsewhere");
  await dataOf(files.upload("a.txt", "hello", { metadata: { colour: "red" } }));

  assert.deepEqual(await dataOf(files.move("a.txt", "b/c.txt")), { message: "Successfully moved" });
  const copied = await dataOf(files.copy("b/c.txt", "d.txt", { destinationBucket: "elsewhere" }));
  assert.deepEqual(copied, { path: "elsewhere/d.txt" });
  assert.equal(await textOf(other.download("d.txt")), "hello");
  assert.deepEqual((await dataOf(other.info("d.txt"))).metadata, { colour: "red" });
  assert.deepEqual(
    await refusalOf(files.move("none", "x")),
    refusal(404, "NoSuchKey", "Object not found"),
  );
  await dataOf(files.upload("taken", "x"));
  assert.equal((await refusalOf(files.move("b/c.txt", "taken"))).code, "ResourceAlreadyExists");
  const removed = await dataOf(files.remove(["b/c.txt", "none", "taken"]));
  assert.deepEqual(removed.map(({ name }) => name).sort(), ["b/c.txt", "taken"]);
  assert.equal((await files.exists("taken")).data, false);
});
