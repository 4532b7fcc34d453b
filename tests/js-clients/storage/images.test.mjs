// Image transformations with storage-js.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { createClient } from "@supabase/supabase-js";

import { bitmap, pngBomb } from "../support/images.mjs";
import { startPlinth } from "../support/plinth.mjs";

let plinth;
let files;
let guest;
before(async () => {
  plinth = await startPlinth();
  const { storage } = createClient(plinth.apiUrl, plinth.keys.secret);
  await storage.createBucket("pictures", { public: true });
  await storage.createBucket("private");
  files = storage.from("pictures");
  guest = createClient(plinth.apiUrl, plinth.keys.publishable).storage;
  // 400 × 200, the left half red and the right half blue.
  const picture = bitmap(400, 200, (x) => (x < 200 ? [255, 0, 0] : [0, 0, 255]));
  for (const bucket of ["pictures", "private"]) {
    const { error } = await storage
      .from(bucket)
      .upload("flag.bmp", picture, { contentType: "text/plain", cacheControl: "60" });
    assert.equal(error, null);
  }
});
after(() => plinth?.stop());

const get = (url, headers = {}) => fetch(url, { headers });
const publicUrl = (transform) => files.getPublicUrl("flag.bmp", { transform }).data.publicUrl;

/** Width and height, read from the bytes. */
async function sizeOf(response) {
  const bytes = Buffer.from(await response.arrayBuffer());
  switch (response.headers.get("content-type")) {
    case "image/png":
      return [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
    case "image/jpeg": {
      const frame = bytes.indexOf(Buffer.from([0xff, 0xc0]));
      return [bytes.readUInt16BE(frame + 7), bytes.readUInt16BE(frame + 5)];
    }
    case "image/webp": {
      const frame = bytes.indexOf(Buffer.from([0x9d, 0x01, 0x2a]));
      return [bytes.readUInt16LE(frame + 3) & 0x3fff, bytes.readUInt16LE(frame + 5) & 0x3fff];
    }
    default:
      throw new Error(`${response.status} ${response.headers.get("content-type")}: ${bytes}`);
  }
}

test("an image is fitted into the sides that were asked for, and never enlarged", async () => {
  const check = async (transform, expected) => {
    assert.deepEqual(await sizeOf(await get(publicUrl(transform))), expected, JSON.stringify(transform));
  };
  await check({ width: 100 }, [100, 50]);
  await check({ width: 100, height: 100 }, [100, 100]);
  await check({ width: 100, height: 100, resize: "contain" }, [100, 50]);
  await check({ width: 100, height: 100, resize: "fill" }, [100, 100]);
  await check({ width: 2000 }, [400, 200]);
});

test("the response says what was done, and may be cached like the object", async () => {
  const response = await get(publicUrl({ width: 200, height: 200, quality: 60 }));
  const header = (name) => response.headers.get(name);
  assert.equal(header("x-transformations"), "height:200,width:200,resizing_type:fill,quality:60");
  assert.equal(header("cache-control"), "max-age=60");
  assert.equal(header("vary"), "Accept");
  assert.equal(header("content-type"), "image/jpeg");
  const again = await get(publicUrl({ width: 200, height: 200, quality: 60 }), {
    "if-none-match": header("etag"),
  });
  assert.equal(again.status, 304);
  const other = await get(publicUrl({ width: 100 }), { "if-none-match": header("etag") });
  assert.equal(other.status, 200);
});

test("browsers that can read WebP get it, unless they ask for the original format", async () => {
  const accept = { accept: "image/avif,image/webp,*/*" };
  assert.equal((await get(publicUrl({ width: 50 }), accept)).headers.get("content-type"), "image/webp");
  const origin = await get(publicUrl({ width: 50, format: "origin" }), accept);
  assert.equal(origin.headers.get("content-type"), "image/jpeg");
});

test("many who ask at once get the same image", async () => {
  const responses = await Promise.all(Array.from({ length: 40 }, () => get(publicUrl({ width: 77 }))));
  assert.deepEqual(new Set(responses.map((reply) => reply.status)), new Set([200]));
  const bodies = await Promise.all(responses.map(async (reply) => Buffer.from(await reply.arrayBuffer())));
  assert.ok(bodies.every((body) => body.equals(bodies[0])));
});

test("a signed link fixes what is shown", async () => {
  const { storage } = createClient(plinth.apiUrl, plinth.keys.secret);
  const { data } = await storage
    .from("private")
    .createSignedUrl("flag.bmp", 60, { transform: { width: 40, height: 40, resize: "contain" } });
  assert.match(data.signedUrl, /\/render\/image\/sign\/private\/flag\.bmp\?token=/);
  const response = await get(`${data.signedUrl}&width=300&height=300`);
  assert.deepEqual(await sizeOf(response), [40, 20]);
  assert.ok(response.headers.get("expires"));
  assert.equal(response.headers.get("cache-control"), null);
});

test("policies decide about rendering, also in a public bucket", async () => {
  const { data, error } = await guest.from("pictures").download("flag.bmp", { transform: { width: 10 } });
  assert.equal(data, null);
  assert.equal(error.statusCode, "404");
  const own = await files.download("flag.bmp", { transform: { width: 10 } });
  assert.equal(own.data.type, "image/jpeg");
  const hidden = await get(publicUrl({ width: 10 }).replace("/pictures/", "/private/"));
  assert.deepEqual([hidden.status, (await hidden.json()).code], [400, "NoSuchBucket"]);
});

test("invalid parameters are rejected by name", async () => {
  const errorFor = async (query) => {
    const response = await get(`${publicUrl({ width: 1 }).split("?")[0]}?${query}`);
    return [response.status, (await response.json()).message];
  };
  assert.deepEqual(await errorFor("width=wide"), [400, "querystring/width must be integer"]);
  assert.deepEqual(await errorFor("quality=5"), [400, "querystring/quality must be >= 20"]);
  assert.deepEqual(await errorFor("gravity=up"), [
    400,
    "querystring/gravity must be equal to one of the allowed values",
  ]);
});

test("files that are no images, or far too large ones, are rejected", async () => {
  const check = async (name, content, message) => {
    await files.upload(name, content, { upsert: true, contentType: "image/png" });
    const response = await get(files.getPublicUrl(name, { transform: { width: 10 } }).data.publicUrl);
    assert.equal(response.status, 400);
    assert.equal((await response.json()).message, message);
  };
  const invalid = "The source image is invalid or unsupported for rendering";
  await check("text.png", "not an image", invalid);
  await check("empty.png", "", invalid);
  const bomb = pngBomb(60_000, 60_000);
  assert.ok(bomb.length < 100_000);
  await check("bomb.png", bomb, "The source image resolution is too large to process");
});

test("drawings are passed on in a sandbox", async () => {
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  await files.upload("drawing.svg", drawing, { contentType: "image/svg+xml" });
  const response = await get(files.getPublicUrl("drawing.svg", { transform: { width: 10 } }).data.publicUrl);
  assert.equal(response.headers.get("content-type"), "image/svg+xml");
  assert.equal(response.headers.get("content-security-policy"), "sandbox");
  assert.equal(await response.text(), drawing);
});
