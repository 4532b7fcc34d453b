// Resumable uploads with common clients: tus-js-client, and Uppy with its Tus plugin.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { createClient } from "@supabase/supabase-js";
import Uppy from "@uppy/core";
import UppyTus from "@uppy/tus";
import * as tus from "tus-js-client";

import { signToken } from "../rest/support.mjs";
import { startPlinth } from "../support/plinth.mjs";

const MiB = 1024 * 1024;
// The chunk size that the platform's guides recommend.
const CHUNK = 6 * MiB;
const ADA = "11111111-1111-4111-8111-111111111111";
const BOB = "22222222-2222-4222-8222-222222222222";

const schema = `
  insert into storage.buckets (id, name, file_size_limit, allowed_mime_types) values
    ('files', 'files', null, null),
    ('small', 'small', 1000, null),
    ('images', 'images', null, '{image/*}');
  create policy own on storage.objects for insert to authenticated
    with check (bucket_id = 'files' and (storage.foldername(name))[1] = auth.uid()::text);
`;
const files = { "supabase/migrations/1_buckets.sql": schema };

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex");

let plinth;
let admin;
before(async () => {
  plinth = await startPlinth({ files });
  admin = createClient(plinth.apiUrl, plinth.keys.secret, { auth: { persistSession: false } });
});
after(() => plinth?.stop());

const endpoint = () => `${plinth.apiUrl}/storage/v1/upload/resumable`;
const asService = () => ({ authorization: `Bearer ${plinth.keys.serviceRole}` });
const asUser = (id) => ({ authorization: `Bearer ${signToken({ sub: id }, plinth.jwtSecret)}` });

/** Options of an upload; `send` sets the callbacks. */
function options(objectName, { bucketName = "files", metadata = {}, ...more } = {}) {
  return {
    endpoint: endpoint(),
    headers: asService(),
    chunkSize: CHUNK,
    retryDelays: null,
    metadata: { bucketName, objectName, ...metadata },
    ...more,
  };
}

/** An upload; `done` resolves to the requests that were sent. */
function prepare(source, given) {
  const requests = [];
  let upload;
  const done = new Promise((resolve, reject) => {
    upload = new tus.Upload(source, {
      ...given,
      onAfterResponse: (request, response) => {
        const offset = response.getHeader("Upload-Offset");
        requests.push({ method: request.getMethod(), status: response.getStatus(), offset });
      },
      onSuccess: () => resolve(requests),
      onError: reject,
    });
  });
  return { upload, done, requests };
}

async function send(source, given) {
  const { upload, done } = prepare(source, given);
  upload.start();
  const requests = await done;
  return { upload, requests };
}

/** Returns status and text of an upload, which must fail. */
async function expectUploadError(source, given) {
  const error = await send(source, given).then(
    () => assert.fail("it was uploaded"),
    (error) => error,
  );
  assert.ok(error.originalResponse, error.message);
  return [error.originalResponse.getStatus(), error.originalResponse.getBody()];
}

async function assertStored(objectName, bytes, bucket = "files") {
  const { data, error } = await admin.storage.from(bucket).download(objectName);
  assert.ifError(error);
  const stored = Buffer.from(await data.arrayBuffer());
  assert.equal(stored.length, bytes.length);
  assert.equal(hash(stored), hash(bytes));
}

const methods = (requests) => requests.map(({ method }) => method);

describe("tus-js-client", () => {
  it("uploads a file in several chunks", async () => {
    const bytes = randomBytes(20 * MiB);
    const metadata = {
      contentType: "video/mp4",
      cacheControl: "3600",
      metadata: JSON.stringify({ camera: "left" }),
    };

    const { upload, requests } = await send(bytes, options("several.mp4", { metadata }));

    assert.deepEqual(methods(requests), ["POST", "PATCH", "PATCH", "PATCH", "PATCH"]);
    assert.deepEqual(
      requests.slice(1).map(({ offset }) => Number(offset)),
      [CHUNK, 2 * CHUNK, 3 * CHUNK, bytes.length],
    );
    assert.ok(upload.url.startsWith(`${endpoint()}/`), upload.url);
    await assertStored("several.mp4", bytes);
    const { data } = await admin.storage.from("files").info("several.mp4");
    assert.equal(data.contentType, "video/mp4");
    assert.equal(data.cacheControl, "max-age=3600");
    assert.deepEqual(data.metadata, { camera: "left" });
    assert.match(data.etag, /^"[0-9a-f]{32}-4"$/);
  });

  it("sends the first chunk with the creation where it is configured to", async () => {
    const bytes = randomBytes(CHUNK + 5);

    const { requests } = await send(bytes, options("at-once", { uploadDataDuringCreation: true }));

    assert.deepEqual(methods(requests), ["POST", "PATCH"]);
    assert.equal(Number(requests[0].offset), CHUNK);
    await assertStored("at-once", bytes);
  });

  it("uploads a large file in one request", async () => {
    const bytes = randomBytes(40 * MiB);

    const { requests } = await send(bytes, options("one-request", { chunkSize: Infinity }));

    assert.deepEqual(methods(requests), ["POST", "PATCH"]);
    await assertStored("one-request", bytes);
    const { data } = await admin.storage.from("files").info("one-request");
    assert.equal(data.etag, `"${createHash("md5").update(bytes).digest("hex")}"`);
  });

  it("uploads an empty file", async () => {
    const { requests } = await send(Buffer.alloc(0), options("empty"));

    assert.deepEqual(methods(requests), ["POST"]);
    await assertStored("empty", Buffer.alloc(0));
  });

  it("uploads a stream of unknown length", async () => {
    const bytes = randomBytes(2 * CHUNK + 123);
    const given = options("deferred", { uploadLengthDeferred: true });

    const { requests } = await send(Readable.from(pieces(bytes, MiB)), given);

    assert.deepEqual(methods(requests).slice(0, 3), ["POST", "PATCH", "PATCH"]);
    await assertStored("deferred", bytes);
  });

  it("pauses between chunks and goes on", async () => {
    const bytes = randomBytes(3 * CHUNK);
    const first = prepare(bytes, {
      ...options("paused"),
      onChunkComplete: () => first.upload.abort(),
    });
    first.upload.start();
    await until(() => first.requests.length === 2);

    const { requests } = await send(bytes, options("paused", { uploadUrl: first.upload.url }));

    assert.deepEqual(methods(requests), ["HEAD", "PATCH", "PATCH"]);
    assert.equal(Number(requests[0].offset), CHUNK);
    await assertStored("paused", bytes);
  });

  it("goes on at once where a request broke off", async () => {
    const bytes = randomBytes(40 * MiB);
    const created = prepare(bytes, {
      ...options("broken-off"),
      onUploadUrlAvailable: () => created.upload.abort(),
    });
    created.upload.start();
    await until(() => created.upload.url);
    await sendPart(created.upload.url, bytes, 15 * MiB);

    const given = options("broken-off", { uploadUrl: created.upload.url, chunkSize: Infinity });
    const { requests } = await send(bytes, given);

    assert.deepEqual(methods(requests), ["HEAD", "PATCH"]);
    assert.ok(Number(requests[0].offset) > 0, "what had come counts");
    await assertStored("broken-off", bytes);
  });

  it("lets two clients work on one upload", async () => {
    const bytes = randomBytes(8 * MiB);
    const created = prepare(bytes, {
      ...options("shared"),
      onUploadUrlAvailable: () => created.upload.abort(),
    });
    created.upload.start();
    await until(() => created.upload.url);
    const given = options("shared", {
      uploadUrl: created.upload.url,
      headers: { ...asService(), "x-upsert": "true" },
      chunkSize: MiB,
      retryDelays: Array(100).fill(50),
    });

    const both = await Promise.all([send(bytes, given), send(bytes, given)]);

    const count = both.flatMap(({ requests }) => requests).length;
    assert.ok(count < 100, `they hold each other up: ${count} requests`);
    await assertStored("shared", bytes);
  });

  it("goes on after the server was killed", async () => {
    const bytes = randomBytes(5 * CHUNK);
    const metadata = { contentType: "audio/ogg", metadata: JSON.stringify({ take: 7 }) };
    const patient = { retryDelays: Array(120).fill(500) };
    let crashed;
    const { upload, done, requests } = prepare(bytes, {
      ...options("killed", { metadata, ...patient }),
      onProgress: (sent) => {
        if (sent > 2.5 * CHUNK) crashed ??= plinth.crash();
      },
    });

    upload.start();
    await until(() => crashed !== undefined);
    await crashed;
    await plinth.restart();
    await done;

    const resumed = requests.find(({ method, status }) => method === "HEAD" && status === 200);
    assert.ok(Number(resumed.offset) >= 2 * CHUNK, `at most one chunk is lost: ${resumed.offset}`);
    await assertStored("killed", bytes);
    const { data } = await admin.storage.from("files").info("killed");
    assert.equal(data.contentType, "audio/ogg");
    assert.deepEqual(data.metadata, { take: 7 });
  });

  it("goes on after both sides were restarted", async () => {
    const bytes = randomBytes(3 * CHUNK);
    const first = prepare(bytes, {
      ...options("both-restarted"),
      onChunkComplete: () => first.upload.abort(),
    });
    first.upload.start();
    await until(() => first.requests.length === 2);
    await plinth.crash();
    await plinth.restart();

    const given = options("both-restarted", { uploadUrl: first.upload.url });
    const { requests } = await send(bytes, given);

    assert.equal(Number(requests[0].offset), CHUNK);
    await assertStored("both-restarted", bytes);
  });

  it("terminates an upload", async () => {
    const bytes = randomBytes(3 * CHUNK);
    const first = prepare(bytes, {
      ...options("terminated"),
      onChunkComplete: () => first.upload.abort(),
    });
    first.upload.start();
    await until(() => first.requests.length === 2);

    await first.upload.abort(true);

    const headers = { ...asService(), "tus-resumable": "1.0.0" };
    const head = await fetch(first.upload.url, { method: "HEAD", headers });
    assert.equal(head.status, 404);
    const { data } = await admin.storage.from("files").exists("terminated");
    assert.equal(data, false);
  });
});

describe("errors that tus-js-client sees", () => {
  it("names limits of size and type", async () => {
    const small = { bucketName: "small" };
    assert.deepEqual(await expectUploadError(randomBytes(1001), options("k", small)), [
      413,
      "Maximum size exceeded",
    ]);
    await send(randomBytes(1000), options("k", small));

    const image = (contentType) => options("k", { bucketName: "images", metadata: { contentType } });
    assert.deepEqual(await expectUploadError(randomBytes(10), image("text/plain")), [
      415,
      "mime type text/plain is not supported",
    ]);
    await send(randomBytes(10), image("image/png"));

    assert.deepEqual(await expectUploadError(randomBytes(51 * MiB), options("huge")), [
      413,
      "Maximum size exceeded",
    ]);
    assert.deepEqual(await expectUploadError(randomBytes(10), options("k", { bucketName: "none" })), [
      404,
      "Bucket not found",
    ]);
  });

  it("asks policies in every request", async () => {
    const rejected = [403, "new row violates row-level security policy"];
    const bytes = randomBytes(CHUNK + 1);
    const anon = { headers: { authorization: `Bearer ${plinth.keys.anon}` } };
    assert.deepEqual(await expectUploadError(bytes, options(`${ADA}/k`, anon)), rejected);
    assert.deepEqual(await expectUploadError(bytes, options(`${ADA}/k`, { headers: asUser(BOB) })), rejected);

    const first = prepare(bytes, {
      ...options(`${ADA}/k`, { headers: asUser(ADA) }),
      onChunkComplete: () => first.upload.abort(),
    });
    first.upload.start();
    await until(() => first.requests.length === 2);
    const uploadUrl = first.upload.url;
    const asBob = options(`${ADA}/k`, { headers: asUser(BOB), uploadUrl });
    assert.deepEqual(await expectUploadError(bytes, asBob), rejected);
    await send(bytes, options(`${ADA}/k`, { headers: asUser(ADA), uploadUrl }));
    await assertStored(`${ADA}/k`, bytes);
  });

  it("replaces only where x-upsert says so", async () => {
    const headers = { ...asService(), "x-upsert": "true" };
    const [old, young] = [randomBytes(100), randomBytes(CHUNK + 100)];
    await send(old, options("replaced"));

    const taken = [409, "The resource already exists"];
    assert.deepEqual(await expectUploadError(young, options("replaced")), taken);
    await assertStored("replaced", old);

    await send(young, options("replaced", { headers }));
    await assertStored("replaced", young);
  });

  it("takes opaque keys and rejects wrong ones in JSON", async () => {
    const bytes = randomBytes(10);
    const headers = (key) => ({ headers: { apikey: key, authorization: `Bearer ${key}` } });
    await send(bytes, options("opaque", headers(plinth.keys.secret)));
    await assertStored("opaque", bytes);

    const [status, body] = await expectUploadError(bytes, options("k", headers("nonsense")));
    assert.equal(status, 401);
    assert.equal(JSON.parse(body).message, "Invalid API key");
  });
});

describe("a client that sends before it listens", () => {
  const headers = () => ({ ...asService(), "tus-resumable": "1.0.0" });

  async function create(objectName, length) {
    const encode = (text) => Buffer.from(text).toString("base64");
    const metadata = `bucketName ${encode("files")},objectName ${encode(objectName)}`;
    const more = { "upload-length": length, "upload-metadata": metadata };
    const created = await fetch(endpoint(), { method: "POST", headers: { ...headers(), ...more } });
    assert.equal(created.status, 201);
    return created.headers.get("location");
  }

  /** Status and text, and whether the server sent 100 Continue. */
  function patch(url, offset, bytes, expects) {
    const more = {
      "upload-offset": offset,
      "content-type": "application/offset+octet-stream",
      "content-length": bytes.length,
      ...(expects ? { expect: "100-continue" } : {}),
    };
    return new Promise((resolve, reject) => {
      const request = http.request(url, { method: "PATCH", headers: { ...headers(), ...more } });
      let wasAsked = false;
      request.on("continue", () => {
        wasAsked = true;
        request.end(bytes);
      });
      request.on("error", reject);
      request.on("response", async (response) => {
        resolve({ status: response.statusCode, text: await text(response), wasAsked });
        request.destroy();
      });
      if (expects) request.flushHeaders();
      else request.end(bytes);
    });
  }

  it("gets the error, however much it still has to send", async () => {
    const url = await create("early", 40 * MiB);

    const rejected = await patch(url, 5, Buffer.alloc(30 * MiB), false);

    assert.deepEqual([rejected.status, rejected.text], [409, "Upload-Offset conflict"]);
  });

  it("is asked for the body only once everything else is good", async () => {
    const bytes = randomBytes(1000);
    const url = await create("expected", bytes.length);

    const rejected = await patch(`${url}x`, 0, bytes, true);
    assert.deepEqual([rejected.status, rejected.wasAsked], [400, false]);
    const conflict = await patch(url, 5, bytes, true);
    assert.deepEqual([conflict.status, conflict.wasAsked], [409, false]);
    const taken = await patch(url, 0, bytes, true);
    assert.deepEqual([taken.status, taken.wasAsked], [204, true]);

    await assertStored("expected", bytes);
  });
});

describe("signed uploads", () => {
  const signed = async (objectName, upsert = false) => {
    const { data, error } = await admin.storage
      .from("files")
      .createSignedUploadUrl(objectName, { upsert });
    assert.ifError(error);
    return { endpoint: `${endpoint()}/sign`, headers: { "x-signature": data.token } };
  };

  it("need no other credentials", async () => {
    const bytes = randomBytes(CHUNK + 5);

    const { upload } = await send(bytes, options("signed", await signed("signed")));

    assert.ok(upload.url.startsWith(`${endpoint()}/sign/`), upload.url);
    await assertStored("signed", bytes);
  });

  it("are good for one name, and replace only if the token says so", async () => {
    const bytes = randomBytes(100);
    const token = await signed("signed-once");
    assert.deepEqual(await expectUploadError(bytes, options("other", token)), [400, "Invalid signature"]);
    const none = options("k", { endpoint: `${endpoint()}/sign`, headers: {} });
    assert.deepEqual(await expectUploadError(bytes, none), [400, "Missing x-signature header"]);

    await send(bytes, options("signed-once", token));
    const again = await expectUploadError(bytes, options("signed-once", token));
    assert.deepEqual(again, [409, "The resource already exists"]);

    const younger = randomBytes(100);
    await send(younger, options("signed-once", await signed("signed-once", true)));
    await assertStored("signed-once", younger);
  });
});

describe("Uppy", () => {
  /** Uppy with the Tus plugin's defaults and the required options. */
  function uppy(more = {}) {
    const instance = new Uppy();
    instance.use(UppyTus, { endpoint: endpoint(), headers: asService(), ...more });
    return instance;
  }

  function add(instance, objectName, bytes) {
    const meta = { bucketName: "files", objectName, contentType: "image/png" };
    return instance.addFile({ name: objectName, type: "image/png", data: bytes, meta });
  }

  it("uploads with its defaults", async () => {
    const bytes = randomBytes(13 * MiB);
    const instance = uppy();
    add(instance, "uppy-defaults", bytes);

    const { successful, failed } = await instance.upload();

    assert.deepEqual(failed, []);
    assert.ok(successful[0].uploadURL.startsWith(endpoint()));
    await assertStored("uppy-defaults", bytes);
  });

  it("uploads several files as the platform's guide sets it up", async () => {
    const instance = uppy({
      uploadDataDuringCreation: true,
      chunkSize: CHUNK,
      allowedMetaFields: ["bucketName", "objectName", "contentType", "cacheControl"],
    });
    const all = ["one", "two", "three"].map((name) => [`uppy-${name}`, randomBytes(CHUNK + 7)]);
    for (const [name, bytes] of all) add(instance, name, bytes);

    const { failed } = await instance.upload();

    assert.deepEqual(failed, []);
    for (const [name, bytes] of all) await assertStored(name, bytes);
  });

  it("pauses and resumes", async () => {
    const bytes = randomBytes(30 * MiB);
    const instance = uppy({ chunkSize: MiB });
    const id = add(instance, "uppy-paused", bytes);
    const hasBegun = new Promise((resolve) => {
      instance.on("upload-progress", (_, { bytesUploaded }) => bytesUploaded > 2 * MiB && resolve());
    });

    const result = instance.upload();
    await hasBegun;
    assert.equal(instance.pauseResume(id), true);
    // The pause itself: if it ended at once, the upload would not be interrupted.
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(instance.pauseResume(id), false);

    assert.deepEqual((await result).failed, []);
    await assertStored("uppy-paused", bytes);
  });
});

describe("expiry", () => {
  it("ends an upload, and the client begins anew", async () => {
    const config = '[plinth.storage.tus]\nexpiry = "2s"\n';
    const short = await startPlinth({ files: { ...files, "supabase/config.toml": config } });
    try {
      const bytes = randomBytes(300);
      const there = {
        endpoint: `${short.apiUrl}/storage/v1/upload/resumable`,
        headers: { authorization: `Bearer ${short.keys.serviceRole}` },
      };
      const first = prepare(bytes, {
        ...options("expired", { ...there, chunkSize: 100 }),
        onChunkComplete: () => first.upload.abort(),
      });
      first.upload.start();
      await until(() => first.requests.length === 2);

      const headers = { ...there.headers, "tus-resumable": "1.0.0" };
      const status = async () => (await fetch(first.upload.url, { method: "HEAD", headers })).status;
      await until(async () => (await status()) === 410);
      const given = options("expired", { ...there, uploadUrl: first.upload.url });
      const { requests } = await send(bytes, given);

      assert.deepEqual(methods(requests), ["HEAD", "POST", "PATCH"]);
      const client = createClient(short.apiUrl, short.keys.secret);
      const { data } = await client.storage.from("files").download("expired");
      assert.equal(hash(Buffer.from(await data.arrayBuffer())), hash(bytes));
    } finally {
      await short.stop();
    }
  });
});

function* pieces(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Declares the full length, sends a part and closes the connection. */
async function sendPart(url, bytes, count) {
  const request = http.request(url, {
    method: "PATCH",
    headers: {
      ...asService(),
      "tus-resumable": "1.0.0",
      "upload-offset": 0,
      "content-type": "application/offset+octet-stream",
      "content-length": bytes.length,
    },
  });
  request.on("error", () => {});
  await new Promise((done) => request.write(bytes.subarray(0, count), done));
  request.destroy();
}

/** Polls until a condition is true. */
async function until(isTrue) {
  const deadline = Date.now() + 60_000;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, "this never became true");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
