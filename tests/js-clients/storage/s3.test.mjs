// The AWS SDK for JavaScript against /storage/v1/s3.

import assert from "node:assert/strict";
import { createHash, createHmac, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";

import * as S3 from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { createClient } from "@supabase/supabase-js";
import postgres from "postgres";

import { startPlinth } from "../support/plinth.mjs";

const policies = `
  create policy "own folder" on storage.objects for all to authenticated
    using (bucket_id = 'private' and (storage.foldername(name))[1] = auth.uid()::text)
    with check (bucket_id = 'private' and (storage.foldername(name))[1] = auth.uid()::text);
`;

let plinth;
let s3;
const send = (command) => s3.send(command);
const md5 = (bytes) => createHash("md5").update(bytes).digest("hex");
const text = async (response) => response.Body.transformToString();

function client({ accessKeyId, secretAccessKey, sessionToken, ...options } = {}) {
  const { s3: known } = plinth;
  return new S3.S3Client({
    endpoint: known.endpoint,
    region: known.region,
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: {
      accessKeyId: accessKeyId ?? known.accessKeyId,
      secretAccessKey: secretAccessKey ?? known.secretAccessKey,
      sessionToken,
    },
    ...options,
  });
}

/** Asserts that a command fails with this status and code. */
async function expectS3Error(promise, status, code) {
  const error = await promise.then(
    () => assert.fail(`expected ${status} ${code}`),
    (error) => error,
  );
  assert.equal(error.$metadata?.httpStatusCode, status, String(error));
  if (code) assert.equal(error.name, code);
}

before(async () => {
  plinth = await startPlinth({ files: { "supabase/migrations/1_policies.sql": policies } });
  s3 = client();
  await send(new S3.CreateBucketCommand({ Bucket: "files" }));
  await send(new S3.CreateBucketCommand({ Bucket: "private" }));
});
after(() => plinth?.stop());

describe("buckets", () => {
  test("are made, found, listed and removed", async () => {
    const made = await send(new S3.CreateBucketCommand({ Bucket: "short-lived", ACL: "public-read" }));
    assert.equal(made.Location, "/short-lived");
    const head = await send(new S3.HeadBucketCommand({ Bucket: "short-lived" }));
    assert.equal(head.BucketRegion, "local");
    const { Buckets } = await send(new S3.ListBucketsCommand({}));
    assert.deepEqual(Buckets.map((bucket) => bucket.Name), ["files", "private", "short-lived"]);
    assert.ok(Buckets[0].CreationDate instanceof Date);
    const location = await send(new S3.GetBucketLocationCommand({ Bucket: "short-lived" }));
    assert.equal(location.LocationConstraint, "local");
    const versioning = await send(new S3.GetBucketVersioningCommand({ Bucket: "short-lived" }));
    assert.equal(versioning.Status, "Suspended");

    await send(new S3.PutObjectCommand({ Bucket: "short-lived", Key: "a", Body: "x" }));
    const open = await fetch(`${plinth.apiUrl}/storage/v1/object/public/short-lived/a`);
    assert.equal(await open.text(), "x");
    await expectS3Error(send(new S3.DeleteBucketCommand({ Bucket: "short-lived" })), 409, "ResourceNotEmpty");
    await send(new S3.DeleteObjectCommand({ Bucket: "short-lived", Key: "a" }));
    const gone = await send(new S3.DeleteBucketCommand({ Bucket: "short-lived" }));
    assert.equal(gone.$metadata.httpStatusCode, 204);
    await expectS3Error(send(new S3.HeadBucketCommand({ Bucket: "short-lived" })), 404);
  });

  test("cannot be made twice, nor with a bad name", async () => {
    await expectS3Error(send(new S3.CreateBucketCommand({ Bucket: "files" })), 409, "BucketAlreadyExists");
    await expectS3Error(send(new S3.CreateBucketCommand({ Bucket: "a%b" })), 400, "InvalidBucketName");
  });

  test("that are missing say so", async () => {
    const missing = { Bucket: "missing", Key: "k" };
    await expectS3Error(send(new S3.ListObjectsV2Command({ Bucket: "missing" })), 404, "NoSuchBucket");
    await expectS3Error(send(new S3.GetObjectCommand(missing)), 404, "NoSuchBucket");
    await expectS3Error(send(new S3.PutObjectCommand({ ...missing, Body: "x" })), 404, "NoSuchBucket");
    await expectS3Error(send(new S3.DeleteObjectCommand(missing)), 404, "NoSuchBucket");
  });
});

describe("objects", () => {
  test("come back as they went", async () => {
    const body = randomBytes(700_000);
    const at = { Bucket: "files", Key: "folder/one.bin" };
    const put = await send(
      new S3.PutObjectCommand({
        ...at,
        Body: body,
        ContentType: "image/png",
        CacheControl: "max-age=7",
        Metadata: { Colour: "blue", shape: "round" },
      }),
    );
    assert.equal(put.ETag, `"${md5(body)}"`);

    const get = await send(new S3.GetObjectCommand(at));
    assert.deepEqual(Buffer.from(await get.Body.transformToByteArray()), body);
    assert.equal(get.ContentType, "image/png");
    assert.equal(get.CacheControl, "max-age=7");
    assert.deepEqual(get.Metadata, { colour: "blue", shape: "round" });
    const head = await send(new S3.HeadObjectCommand(at));
    assert.equal(head.ContentLength, body.length);
    assert.equal(head.ETag, put.ETag);
    assert.deepEqual(head.Metadata, { colour: "blue", shape: "round" });
    const { TagSet } = await send(new S3.GetObjectTaggingCommand(at));
    assert.deepEqual(TagSet, []);
    // The same object through the other protocol.
    const storage = createClient(plinth.apiUrl, plinth.keys.secret).storage.from("files");
    const { data } = await storage.info("folder/one.bin");
    assert.deepEqual(data.metadata, { colour: "blue", shape: "round" });
  });

  test("of streams come in chunks with a checksum behind them", async () => {
    const body = randomBytes(300_000);
    const at = { Bucket: "files", Key: "streamed" };
    for (const ChecksumAlgorithm of ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"]) {
      const Body = Readable.from([body.subarray(0, 100_000), body.subarray(100_000)]);
      const command = { ...at, Body, ContentLength: body.length, ChecksumAlgorithm };
      const put = await send(new S3.PutObjectCommand(command));
      assert.equal(put.ETag, `"${md5(body)}"`, ChecksumAlgorithm);
      assert.ok(put[`Checksum${ChecksumAlgorithm}`], ChecksumAlgorithm);
    }
    const get = await send(new S3.GetObjectCommand(at));
    assert.deepEqual(Buffer.from(await get.Body.transformToByteArray()), body);
  });

  test("with a wrong checksum or digest are rejected", async () => {
    const at = { Bucket: "files", Key: "wrong", Body: "hello" };
    await expectS3Error(send(new S3.PutObjectCommand({ ...at, ChecksumCRC32: "AAAAAA==" })), 400, "BadDigest");
    await expectS3Error(
      send(new S3.PutObjectCommand({ ...at, ContentMD5: "1B2M2Y8AsgTpgAmY7PhCfg==" })),
      400,
      "BadDigest",
    );
    await expectS3Error(send(new S3.HeadObjectCommand({ Bucket: "files", Key: "wrong" })), 404);
  });

  test("are read in ranges and on conditions", async () => {
    const at = { Bucket: "files", Key: "range.txt" };
    const { ETag } = await send(new S3.PutObjectCommand({ ...at, Body: "0123456789" }));
    const get = (more) => send(new S3.GetObjectCommand({ ...at, ...more }));
    const part = await get({ Range: "bytes=2-4" });
    assert.equal(await text(part), "234");
    assert.equal(part.ContentRange, "bytes 2-4/10");
    assert.equal(await text(await get({ Range: "bytes=-3" })), "789");
    await expectS3Error(get({ Range: "bytes=20-" }), 416, "InvalidRange");
    await expectS3Error(get({ IfNoneMatch: ETag }), 304);
    await expectS3Error(get({ IfModifiedSince: new Date(Date.now() + 60_000) }), 304);
    await expectS3Error(get({ IfMatch: '"other"' }), 412, "PreconditionFailed");
    await expectS3Error(get({ IfUnmodifiedSince: new Date(0) }), 412, "PreconditionFailed");
    assert.equal(await text(await get({ IfMatch: ETag })), "0123456789");
    const shown = await get({
      ResponseContentType: "text/csv",
      ResponseContentDisposition: 'attachment; filename="a.csv"',
      ResponseCacheControl: "no-store",
    });
    assert.equal(shown.ContentType, "text/csv");
    assert.equal(shown.ContentDisposition, 'attachment; filename="a.csv"');
    assert.equal(shown.CacheControl, "no-store");
    await expectS3Error(send(new S3.HeadObjectCommand({ ...at, Key: "nothing" })), 404);
    await expectS3Error(send(new S3.GetObjectCommand({ ...at, Key: "nothing" })), 404, "NoSuchKey");
  });

  test("are not replaced when only a new one is wanted", async () => {
    const put = { Bucket: "files", Key: "once", Body: "1", IfNoneMatch: "*" };
    await send(new S3.PutObjectCommand(put));
    await expectS3Error(send(new S3.PutObjectCommand(put)), 412, "PreconditionFailed");
  });

  test("keep the headers that were given with them", async () => {
    const at = { Bucket: "files", Key: "page.html.gz" };
    const given = {
      ContentEncoding: "gzip",
      ContentDisposition: 'inline; filename="page.html"',
      ContentLanguage: "de-CH",
      Expires: new Date("2030-01-02T03:04:05Z"),
    };
    const Body = gzipSync("hello");
    await send(new S3.PutObjectCommand({ ...at, Body, ContentType: "text/plain", ...given }));
    const picked = ({ ContentEncoding, ContentDisposition, ContentLanguage, Expires }) => ({
      ContentEncoding,
      ContentDisposition,
      ContentLanguage,
      Expires,
    });
    assert.deepEqual(picked(await send(new S3.HeadObjectCommand(at))), given);
    const get = await send(new S3.GetObjectCommand(at));
    assert.deepEqual(picked(get), given);
    assert.deepEqual(Buffer.from(await get.Body.transformToByteArray()), Body);
    // A browser decodes it, by the other protocol too.
    const link = await createClient(plinth.apiUrl, plinth.keys.secret).storage.from("files").createSignedUrl(at.Key, 60);
    const shown = await fetch(link.data.signedUrl);
    assert.equal(await shown.text(), "hello");
    assert.equal(shown.headers.get("content-language"), "de-CH");
    assert.equal(shown.headers.get("content-disposition"), given.ContentDisposition);

    const copy = { Bucket: "files", Key: "copied", CopySource: `files/${at.Key}` };
    await send(new S3.CopyObjectCommand(copy));
    assert.deepEqual(picked(await send(new S3.HeadObjectCommand({ ...at, Key: "copied" }))), given);
    const replaced = { ...copy, MetadataDirective: "REPLACE", ContentLanguage: "fr" };
    await send(new S3.CopyObjectCommand(replaced));
    assert.deepEqual(picked(await send(new S3.HeadObjectCommand({ ...at, Key: "copied" }))), {
      ContentEncoding: undefined,
      ContentDisposition: undefined,
      ContentLanguage: "fr",
      Expires: undefined,
    });

    // In parts, and with the encoding of the transfer before that of the object.
    const parts = { client: s3, params: { Bucket: "files", Key: "parts", Body: randomBytes(6_000_000), ...given } };
    await new Upload(parts).done();
    assert.deepEqual(picked(await send(new S3.HeadObjectCommand({ ...at, Key: "parts" }))), given);
    const streamed = { ...at, Key: "streamed.gz", ContentLength: Body.length, ContentEncoding: "gzip" };
    await send(new S3.PutObjectCommand({ ...streamed, Body: Readable.from([Body]), ChecksumAlgorithm: "CRC32" }));
    const head = await send(new S3.HeadObjectCommand({ ...at, Key: "streamed.gz" }));
    assert.equal(head.ContentEncoding, "gzip");
  });

  test("have one version each", async () => {
    const Bucket = "versions";
    await send(new S3.CreateBucketCommand({ Bucket }));
    for (const Key of ["a", "b/1", "b/2", "c"]) await send(new S3.PutObjectCommand({ Bucket, Key, Body: Key }));
    const all = await send(new S3.ListObjectVersionsCommand({ Bucket }));
    assert.deepEqual(
      all.Versions.map(({ Key, VersionId, IsLatest, Size, ETag }) => ({ Key, VersionId, IsLatest, Size, ETag })),
      ["a", "b/1", "b/2", "c"].map((Key) => ({
        Key,
        VersionId: "null",
        IsLatest: true,
        Size: Key.length,
        ETag: `"${md5(Key)}"`,
      })),
    );
    assert.equal(all.IsTruncated, false);
    assert.equal(all.DeleteMarkers, undefined);
    const keys = [];
    let marker = {};
    do {
      const page = await send(new S3.ListObjectVersionsCommand({ Bucket, MaxKeys: 1, Delimiter: "/", ...marker }));
      keys.push(...(page.Versions ?? []).map(({ Key }) => Key), ...(page.CommonPrefixes ?? []).map(({ Prefix }) => Prefix));
      marker = page.IsTruncated && { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker };
    } while (marker);
    assert.deepEqual(keys, ["a", "b/", "c"]);
    const Objects = all.Versions.map(({ Key, VersionId }) => ({ Key, VersionId }));
    await send(new S3.DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    await send(new S3.DeleteBucketCommand({ Bucket }));
  });

  test("may have odd names", async () => {
    const names = ["a b+c&d=e.txt", "it's (1)!*.txt", "x//y", "1e5", "true", "a@b:c,d;e$f", " "];
    for (const Key of names) {
      await send(new S3.PutObjectCommand({ Bucket: "files", Key: `odd/${Key}`, Body: Key }));
      const get = await send(new S3.GetObjectCommand({ Bucket: "files", Key: `odd/${Key}` }));
      assert.equal(await text(get), Key);
    }
    const list = await send(new S3.ListObjectsV2Command({ Bucket: "files", Prefix: "odd/" }));
    assert.deepEqual(list.Contents.map(({ Key }) => Key).sort(), names.map((name) => `odd/${name}`).sort());
    await expectS3Error(
      send(new S3.PutObjectCommand({ Bucket: "files", Key: "bad#name", Body: "" })),
      400,
      "InvalidKey",
    );
  });

  test("whose name ends in a slash are folders", async () => {
    await send(new S3.PutObjectCommand({ Bucket: "files", Key: "empty/", Body: "" }));
    const list = await send(new S3.ListObjectsV2Command({ Bucket: "files", Prefix: "empty/" }));
    assert.deepEqual(list.Contents.map(({ Key }) => Key), ["empty/.emptyFolderPlaceholder"]);
  });

  test("are copied with their metadata or without", async () => {
    const from = { Bucket: "files", Key: "copy source+1" };
    const to = { Bucket: "private", Key: "copy" };
    const CopySource = encodeURIComponent("files/copy source+1");
    await send(
      new S3.PutObjectCommand({ ...from, Body: "text", ContentType: "text/plain", Metadata: { a: "1" } }),
    );
    const copied = await send(new S3.CopyObjectCommand({ ...to, CopySource }));
    assert.equal(copied.CopyObjectResult.ETag, `"${md5("text")}"`);
    let head = await send(new S3.HeadObjectCommand(to));
    assert.deepEqual([head.ContentType, head.Metadata], ["text/plain", { a: "1" }]);
    await send(
      new S3.CopyObjectCommand({
        ...to,
        CopySource: `/${CopySource}`,
        MetadataDirective: "REPLACE",
        ContentType: "text/csv",
        Metadata: { b: "2" },
      }),
    );
    head = await send(new S3.HeadObjectCommand(to));
    assert.deepEqual([head.ContentType, head.Metadata], ["text/csv", { b: "2" }]);
    await expectS3Error(
      send(new S3.CopyObjectCommand({ ...to, CopySource, CopySourceIfMatch: '"x"' })),
      412,
      "PreconditionFailed",
    );
    await expectS3Error(send(new S3.CopyObjectCommand({ ...to, CopySource: "files/none" })), 404, "NoSuchKey");
  });

  test("are deleted one by one and together", async () => {
    for (const Key of ["gone/1", "gone/2"]) {
      await send(new S3.PutObjectCommand({ Bucket: "files", Key, Body: "x" }));
    }
    const one = await send(new S3.DeleteObjectCommand({ Bucket: "files", Key: "gone/1" }));
    assert.equal(one.$metadata.httpStatusCode, 204);
    const again = await send(new S3.DeleteObjectCommand({ Bucket: "files", Key: "gone/1" }));
    assert.equal(again.$metadata.httpStatusCode, 204);
    const Objects = [{ Key: "gone/2" }, { Key: "gone/never & <none>" }];
    const many = await send(new S3.DeleteObjectsCommand({ Bucket: "files", Delete: { Objects } }));
    assert.deepEqual(many.Deleted.map(({ Key }) => Key), ["gone/2", "gone/never & <none>"]);
    const left = await send(new S3.ListObjectsV2Command({ Bucket: "files", Prefix: "gone/" }));
    assert.equal(left.KeyCount, 0);
  });
});

describe("lists", () => {
  before(async () => {
    await send(new S3.CreateBucketCommand({ Bucket: "listed" }));
    for (const Key of ["a.txt", "b/1", "b/2", "c/d/1", "e.txt"]) {
      await send(new S3.PutObjectCommand({ Bucket: "listed", Key, Body: "x" }));
    }
  });

  test("of the second form go on behind their token", async () => {
    const first = await send(new S3.ListObjectsV2Command({ Bucket: "listed", Delimiter: "/", MaxKeys: 2 }));
    assert.deepEqual(first.Contents.map(({ Key }) => Key), ["a.txt"]);
    assert.deepEqual(first.CommonPrefixes, [{ Prefix: "b/" }]);
    assert.deepEqual([first.KeyCount, first.IsTruncated, first.MaxKeys], [2, true, 2]);
    const second = await send(
      new S3.ListObjectsV2Command({
        Bucket: "listed",
        Delimiter: "/",
        ContinuationToken: first.NextContinuationToken,
      }),
    );
    assert.deepEqual(second.CommonPrefixes, [{ Prefix: "c/" }]);
    assert.deepEqual(second.Contents.map(({ Key }) => Key), ["e.txt"]);
    assert.equal(second.IsTruncated, false);
    assert.equal(second.NextContinuationToken, undefined);
    const [object] = second.Contents;
    assert.deepEqual([object.Size, object.ETag, object.StorageClass], [1, `"${md5("x")}"`, "STANDARD"]);
  });

  test("begin behind a name and are cut by a prefix", async () => {
    const list = (more) => send(new S3.ListObjectsV2Command({ Bucket: "listed", ...more }));
    const names = async (more) => (await list(more)).Contents?.map(({ Key }) => Key) ?? [];
    assert.deepEqual(await names({ StartAfter: "b/1" }), ["b/2", "c/d/1", "e.txt"]);
    assert.deepEqual(await names({ Prefix: "b/" }), ["b/1", "b/2"]);
    assert.deepEqual(await names({ MaxKeys: 0 }), []);
    const seen = [];
    for await (const page of S3.paginateListObjectsV2({ client: s3, pageSize: 2 }, { Bucket: "listed" })) {
      seen.push(...page.Contents.map(({ Key }) => Key));
    }
    assert.deepEqual(seen, ["a.txt", "b/1", "b/2", "c/d/1", "e.txt"]);
    await expectS3Error(list({ ContinuationToken: "not ours!" }), 400, "InvalidParameter");
  });

  test("of the first form go on behind a marker", async () => {
    const first = await send(new S3.ListObjectsCommand({ Bucket: "listed", Delimiter: "/", MaxKeys: 2 }));
    assert.equal(first.NextMarker, "b/");
    const second = await send(
      new S3.ListObjectsCommand({ Bucket: "listed", Delimiter: "/", Marker: first.NextMarker }),
    );
    assert.deepEqual(second.CommonPrefixes, [{ Prefix: "c/" }]);
    assert.deepEqual(second.Contents.map(({ Key }) => Key), ["e.txt"]);
    const flat = await send(new S3.ListObjectsCommand({ Bucket: "listed", MaxKeys: 2 }));
    assert.equal(flat.IsTruncated, true);
    assert.equal(flat.NextMarker, undefined);
  });

  test("can be encoded as parts of a URL", async () => {
    await send(new S3.PutObjectCommand({ Bucket: "listed", Key: "z & y", Body: "" }));
    const command = { Bucket: "listed", Prefix: "z ", EncodingType: "url" };
    const list = await send(new S3.ListObjectsV2Command(command));
    assert.equal(list.Contents[0].Key, "z%20%26%20y");
  });
});

describe("uploads in parts", () => {
  const part = 5 * 1024 * 1024;

  test("become one object", async () => {
    const body = randomBytes(2 * part + 1000);
    const at = { Bucket: "files", Key: "large.bin" };
    const params = { ...at, Body: Readable.from([body]), ContentType: "video/mp4", Metadata: { n: "1" } };
    const done = await new Upload({ client: s3, params, partSize: part, queueSize: 3 }).done();
    const digests = [0, 1, 2].map((n) => createHash("md5").update(body.subarray(n * part, (n + 1) * part)));
    assert.equal(done.ETag, `"${md5(Buffer.concat(digests.map((digest) => digest.digest())))}-3"`);
    assert.equal(done.Location.endsWith("large.bin"), true);
    const get = await send(new S3.GetObjectCommand(at));
    assert.equal(md5(await get.Body.transformToByteArray()), md5(body));
    assert.deepEqual([get.ContentType, get.Metadata], ["video/mp4", { n: "1" }]);
    const across = await send(new S3.GetObjectCommand({ ...at, Range: `bytes=${part - 2}-${part + 1}` }));
    const bytes = Buffer.from(await across.Body.transformToByteArray());
    assert.deepEqual(bytes, body.subarray(part - 2, part + 2));
  });

  test("are listed, replaced, checked and completed", async () => {
    const at = { Bucket: "files", Key: "parts/one" };
    const { UploadId } = await send(new S3.CreateMultipartUploadCommand(at));
    const upload = { ...at, UploadId };
    const put = (PartNumber, Body) => send(new S3.UploadPartCommand({ ...upload, PartNumber, Body }));
    await put(1, "to be replaced");
    const one = await put(1, "hello ");
    const two = await put(2, "world");
    const { Uploads } = await send(new S3.ListMultipartUploadsCommand({ Bucket: "files", Prefix: "parts/" }));
    assert.deepEqual(Uploads.map(({ Key, UploadId }) => [Key, UploadId]), [["parts/one", UploadId]]);
    const listed = await send(new S3.ListPartsCommand({ ...upload, MaxParts: 1 }));
    assert.deepEqual(listed.Parts.map(({ PartNumber, Size, ETag }) => [PartNumber, Size, ETag]), [
      [1, 6, one.ETag],
    ]);
    assert.deepEqual([listed.IsTruncated, listed.NextPartNumberMarker], [true, "1"]);
    const rest = await send(new S3.ListPartsCommand({ ...upload, PartNumberMarker: "1" }));
    assert.deepEqual(rest.Parts.map(({ PartNumber }) => PartNumber), [2]);

    const complete = (...Parts) =>
      send(new S3.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
    await expectS3Error(complete({ PartNumber: 1, ETag: '"wrong"' }), 400, "InvalidChecksum");
    await expectS3Error(complete({ PartNumber: 7, ETag: one.ETag }), 400, "MissingPart");
    const done = await complete({ PartNumber: 1, ETag: one.ETag }, { PartNumber: 2, ETag: two.ETag });
    assert.equal(done.Location, "files/parts/one");
    assert.equal(await text(await send(new S3.GetObjectCommand(at))), "hello world");
    await expectS3Error(put(3, "late"), 404, "NoSuchUpload");

    // The blobs of all parts, also of the replaced one, are queued for garbage collection.
    const sql = postgres(plinth.dbUrl, { max: 1 });
    const [{ parts }] = await sql`select count(*)::int as parts from storage.s3_multipart_uploads_parts`;
    await sql.end();
    assert.equal(parts, 0);
  });

  test("take bytes of other objects", async () => {
    await send(new S3.PutObjectCommand({ Bucket: "files", Key: "source", Body: "0123456789" }));
    const at = { Bucket: "files", Key: "parts/copied" };
    const { UploadId } = await send(new S3.CreateMultipartUploadCommand(at));
    const copy = (PartNumber, CopySourceRange) =>
      send(
        new S3.UploadPartCopyCommand({ ...at, UploadId, PartNumber, CopySource: "files/source", CopySourceRange }),
      );
    const one = await copy(1, "bytes=2-4");
    const two = await copy(2);
    await expectS3Error(copy(3, "bytes=5-10"), 400, "InvalidRange");
    const Parts = [one, two].map(({ CopyPartResult }, n) => ({ PartNumber: n + 1, ETag: CopyPartResult.ETag }));
    await send(new S3.CompleteMultipartUploadCommand({ ...at, UploadId, MultipartUpload: { Parts } }));
    assert.equal(await text(await send(new S3.GetObjectCommand(at))), "2340123456789");
  });

  test("can be given up", async () => {
    const at = { Bucket: "files", Key: "parts/two" };
    const { UploadId } = await send(new S3.CreateMultipartUploadCommand(at));
    await send(new S3.UploadPartCommand({ ...at, UploadId, PartNumber: 1, Body: "x" }));
    await send(new S3.AbortMultipartUploadCommand({ ...at, UploadId }));
    await expectS3Error(send(new S3.AbortMultipartUploadCommand({ ...at, UploadId })), 404, "NoSuchUpload");
    await expectS3Error(send(new S3.ListPartsCommand({ ...at, UploadId })), 404, "NoSuchUpload");
    await expectS3Error(send(new S3.HeadObjectCommand(at)), 404);
  });
});

describe("links", () => {
  test("read and write until they end", async () => {
    const at = { Bucket: "files", Key: "linked page.html" };
    const put = await getSignedUrl(s3, new S3.PutObjectCommand({ ...at, Metadata: { by: "link" } }), {
      expiresIn: 60,
    });
    const sent = await fetch(put, { method: "PUT", body: "<b>hi</b>", headers: { "content-type": "text/html" } });
    assert.equal(sent.status, 200, await sent.text());
    const get = await getSignedUrl(s3, new S3.GetObjectCommand(at), { expiresIn: 60 });
    const got = await fetch(get);
    assert.equal(await got.text(), "<b>hi</b>");
    // Browsers may open it: HTML must not be rendered in our origin.
    assert.equal(got.headers.get("content-type"), "text/plain");
    assert.equal(got.headers.get("x-amz-meta-by"), "link");
    const head = await send(new S3.HeadObjectCommand(at));
    assert.equal(head.ContentType, "text/html");
  });

  test("that expired, were changed or were extended are rejected", async () => {
    const at = { Bucket: "files", Key: "linked" };
    await send(new S3.PutObjectCommand({ ...at, Body: "x" }));
    const old = { expiresIn: 60, signingDate: new Date(Date.now() - 120_000) };
    const expired = await fetch(await getSignedUrl(s3, new S3.GetObjectCommand(at), old));
    assert.equal(expired.status, 400);
    assert.match(await expired.text(), /<Code>ExpiredToken<\/Code>/);
    const good = await getSignedUrl(s3, new S3.GetObjectCommand(at), { expiresIn: 60 });
    const other = await fetch(good.replace("/linked?", "/once?"));
    assert.equal(other.status, 403);
    assert.match(await other.text(), /<Code>SignatureDoesNotMatch<\/Code>/);
    const put = await getSignedUrl(s3, new S3.PutObjectCommand(at), { expiresIn: 60 });
    const more = await fetch(put, { method: "PUT", headers: { "x-amz-copy-source": "private/copy" } });
    assert.equal(more.status, 403);
    assert.match(await more.text(), /not signed/);
    const early = { expiresIn: 60, signingDate: new Date(Date.now() + 3_600_000) };
    const notYet = await fetch(await getSignedUrl(s3, new S3.GetObjectCommand(at), early));
    assert.match(await notYet.text(), /<Code>RequestTimeTooSkewed<\/Code>/);
  });
});

describe("signatures", () => {
  test("of other users are rejected", async () => {
    const command = () => new S3.ListBucketsCommand({});
    await expectS3Error(client({ secretAccessKey: "0".repeat(64) }).send(command()), 403, "SignatureDoesNotMatch");
    await expectS3Error(client({ accessKeyId: "0".repeat(32) }).send(command()), 403, "InvalidAccessKeyId");
    await expectS3Error(client({ region: "eu-west-9" }).send(command()), 400, "InvalidSignature");
    await client({ region: "us-east-1" }).send(command());
    const unsigned = await fetch(`${plinth.s3.endpoint}/files`);
    assert.equal(unsigned.status, 403);
    assert.match(await unsigned.text(), /<Code>AccessDenied<\/Code><Message>Missing signature<\/Message>/);
  });

  test("are good at every address of the project", async () => {
    const endpoint = `${plinth.apiUrl}/p/${plinth.ref}/storage/v1/s3`;
    const at = { Bucket: "files", Key: "by path & name" };
    await client({ endpoint }).send(new S3.PutObjectCommand({ ...at, Body: "x" }));
    assert.equal(await text(await send(new S3.GetObjectCommand(at))), "x");
    const link = await getSignedUrl(client({ endpoint }), new S3.GetObjectCommand(at), { expiresIn: 60 });
    assert.equal(await (await fetch(link)).text(), "x");
  });

  test("cover headers that are replaced on the way", async () => {
    const sent = {
      "x-request-id": "from the client",
      "x-forwarded-for": "192.0.2.7",
      "x-forwarded-host": "elsewhere.example",
      "x-forwarded-port": "99",
      "x-forwarded-prefix": "/elsewhere",
      "x-forwarded-proto": "https",
      "x-real-ip": "192.0.2.8",
      forwarded: "for=192.0.2.9",
    };
    const marked = client();
    const addHeaders = (next) => (args) => {
      Object.assign(args.request.headers, sent);
      return next(args);
    };
    marked.middlewareStack.add(addHeaders, { step: "build" });
    let signed;
    const readSignature = (next) => (args) => {
      signed = args.request.headers.authorization;
      return next(args);
    };
    marked.middlewareStack.add(readSignature, { step: "finalizeRequest", priority: "low" });
    const { Buckets } = await marked.send(new S3.ListBucketsCommand({}));
    assert.ok(Buckets.length > 0);
    for (const name of Object.keys(sent)) assert.match(signed, new RegExp(`[=;]${name}[;,]`));
  });

  test("are rejected when the clocks differ", async () => {
    const skewed = client({ systemClockOffset: -3_600_000 });
    await expectS3Error(skewed.send(new S3.ListBucketsCommand({})), 403, "RequestTimeTooSkewed");
  });

  test("name what is not implemented", async () => {
    await expectS3Error(send(new S3.GetBucketAclCommand({ Bucket: "files" })), 501, "NotImplemented");
    await expectS3Error(send(new S3.GetBucketPolicyCommand({ Bucket: "files" })), 501, "NotImplemented");
    await expectS3Error(
      send(new S3.PutObjectCommand({ Bucket: "files", Key: "e", Body: "", ServerSideEncryption: "AES256" })),
      501,
      "NotImplemented",
    );
  });

  test("cover every chunk and every byte", async () => {
    const chunks = ["a".repeat(70_000), "bc"];
    const good = await sendChunks("chunked", chunks);
    assert.equal(good.status, 200, await good.text());
    const get = await send(new S3.GetObjectCommand({ Bucket: "files", Key: "chunked" }));
    assert.equal(await text(get), chunks.join(""));
    const tampered = await sendChunks("tampered", chunks, (body) => body.replace("bc", "bd"));
    assert.equal(tampered.status, 403);
    assert.match(await tampered.text(), /<Code>SignatureDoesNotMatch<\/Code>/);
    const cut = await sendChunks("cut", chunks, (body) => body.slice(0, body.lastIndexOf("0;")));
    assert.equal(cut.status, 400);
    for (const Key of ["tampered", "cut"]) {
      await expectS3Error(send(new S3.HeadObjectCommand({ Bucket: "files", Key })), 404);
    }
  });

  test("cover the hash of the body", async () => {
    const wrong = await sendSigned("hashed", "other", { "x-amz-content-sha256": sha256("one") });
    assert.equal(wrong.status, 400);
    assert.match(await wrong.text(), /<Code>XAmzContentSHA256Mismatch<\/Code>/);
  });
});

describe("pairs of keys", () => {
  let call;

  before(async () => {
    const made = await plinth.cli("tokens", "create", "s3-tests", "-o", "json");
    assert.equal(made.code, 0, made.stderr);
    const { token } = JSON.parse(made.stdout);
    call = (method, path = "", body) =>
      fetch(`${plinth.apiUrl}/platform/projects/${plinth.ref}/storage/credentials${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: body && JSON.stringify(body),
      });
  });

  test("work from when they are made until they are deleted", async () => {
    const claims = { role: "authenticated", sub: "7f1c6f04-0000-4000-8000-000000000001" };
    const response = await call("POST", "", { description: "one user's pair", claims });
    assert.equal(response.status, 201);
    const made = await response.json();
    assert.deepEqual(Object.keys(made).sort(), ["access_key", "description", "id", "secret_key"]);
    const pair = client({ accessKeyId: made.access_key, secretAccessKey: made.secret_key });
    const Key = `${claims.sub}/own`;
    await eventually(() => pair.send(new S3.PutObjectCommand({ Bucket: "private", Key, Body: "x" })));
    await expectS3Error(
      pair.send(new S3.PutObjectCommand({ Bucket: "private", Key: "other", Body: "x" })),
      403,
      "AccessDenied",
    );

    const list = await (await call("GET")).json();
    assert.equal(list.length, 2);
    assert.deepEqual(Object.keys(list[1]).sort(), ["access_key", "created_at", "description", "id"]);
    assert.equal((await call("DELETE", `/${made.id}`)).status, 204);
    await eventually(() => expectS3Error(pair.send(new S3.ListBucketsCommand({})), 403, "InvalidAccessKeyId"));
    assert.equal((await call("DELETE", `/${made.id}`)).status, 404);
  });

  test("are rejected without a description, and without a right to make them", async () => {
    assert.equal((await call("POST", "", { description: "ab" })).status, 400);
    assert.equal((await call("POST", "", { description: "abc", claims: { role: 1 } })).status, 400);
    const path = `${plinth.apiUrl}/platform/projects/${plinth.ref}/storage/credentials`;
    assert.equal((await fetch(path)).status, 401);
  });
});

/** Polls until a change has reached the node. */
async function eventually(check, deadline = Date.now() + 10_000) {
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe("session tokens", () => {
  let ada;
  let user;

  before(async () => {
    const supabase = createClient(plinth.apiUrl, plinth.keys.publishable);
    const { data, error } = await supabase.auth.signUp({ email: "ada@example.com", password: "analytical" });
    assert.equal(error, null);
    user = data.user.id;
    ada = (secretAccessKey) =>
      client({ accessKeyId: plinth.ref, secretAccessKey, sessionToken: data.session.access_token });
  });

  test("act with the rights of their user", async () => {
    for (const key of [plinth.keys.anon, plinth.keys.publishable]) {
      const own = ada(key);
      const Key = `${user}/note.txt`;
      await own.send(new S3.PutObjectCommand({ Bucket: "private", Key, Body: "mine" }));
      assert.equal(await text(await own.send(new S3.GetObjectCommand({ Bucket: "private", Key }))), "mine");
      const list = await own.send(new S3.ListObjectsV2Command({ Bucket: "private" }));
      assert.deepEqual(list.Contents.map(({ Key }) => Key), [Key]);
      const foreign = { Bucket: "private", Key: "somebody/else" };
      await expectS3Error(own.send(new S3.PutObjectCommand({ ...foreign, Body: "x" })), 403, "AccessDenied");
      await expectS3Error(own.send(new S3.CreateMultipartUploadCommand(foreign)), 403, "AccessDenied");
      await expectS3Error(own.send(new S3.CreateBucketCommand({ Bucket: "hers" })), 403, "AccessDenied");
    }
  });

  test("cannot remove what they cannot see", async () => {
    const own = ada(plinth.keys.anon);
    await send(new S3.PutObjectCommand({ Bucket: "private", Key: "secret", Body: "x" }));
    const Delete = { Objects: [{ Key: "secret" }, { Key: "none" }] };
    const many = await own.send(new S3.DeleteObjectsCommand({ Bucket: "private", Delete }));
    assert.deepEqual(many.Deleted.map(({ Key }) => Key), ["none"]);
    assert.deepEqual(many.Errors.map(({ Key, Code }) => [Key, Code]), [["secret", "AccessDenied"]]);
    await expectS3Error(
      own.send(new S3.DeleteObjectCommand({ Bucket: "private", Key: "secret" })),
      403,
      "AccessDenied",
    );
    await expectS3Error(own.send(new S3.GetObjectCommand({ Bucket: "private", Key: "secret" })), 404, "NoSuchKey");
  });

  test("upload in parts what is theirs", async () => {
    const Key = `${user}/large`;
    const body = randomBytes(6 * 1024 * 1024);
    const params = { Bucket: "private", Key, Body: body };
    await new Upload({ client: ada(plinth.keys.anon), params }).done();
    const head = await send(new S3.HeadObjectCommand({ Bucket: "private", Key }));
    assert.equal(head.ContentLength, body.length);
  });

  test("must be good, and of this project", async () => {
    const list = new S3.ListBucketsCommand({});
    const known = { accessKeyId: plinth.ref, secretAccessKey: plinth.keys.anon };
    await expectS3Error(client({ ...known, sessionToken: "nonsense" }).send(list), 403, "AccessDenied");
    await expectS3Error(client(known).send(list), 403, "InvalidAccessKeyId");
    const elsewhere = { ...known, accessKeyId: "abcdefghijklmnopqrst", sessionToken: plinth.keys.anon };
    await expectS3Error(client(elsewhere).send(list), 403, "AccessDenied");
  });
});

// Requests that the SDK does not send: signed chunks, and bodies that do not match the signature.

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");
const hmac = (key, text) => createHmac("sha256", key).update(text).digest();

function signer(key, extra) {
  const url = new URL(`${plinth.s3.endpoint}/files/${key}`);
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, "");
  const headers = { host: url.host, "x-amz-date": time, ...extra };
  const names = Object.keys(headers).sort();
  const canonical = [
    "PUT",
    url.pathname,
    "",
    ...names.map((name) => `${name}:${headers[name]}`),
    "",
    names.join(";"),
    headers["x-amz-content-sha256"],
  ].join("\n");
  const scope = `${time.slice(0, 8)}/local/s3/aws4_request`;
  const steps = [time.slice(0, 8), "local", "s3", "aws4_request"];
  const signingKey = steps.reduce(hmac, `AWS4${plinth.s3.secretAccessKey}`);
  const sign = (text) => hmac(signingKey, text).toString("hex");
  const seed = sign(["AWS4-HMAC-SHA256", time, scope, sha256(canonical)].join("\n"));
  const credential = `${plinth.s3.accessKeyId}/${scope}`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(";")}, Signature=${seed}`;
  delete headers.host;
  return { url, time, scope, sign, seed, headers: { ...headers, authorization } };
}

function sendSigned(key, body, extra) {
  const { url, headers } = signer(key, extra);
  return fetch(url, { method: "PUT", headers, body });
}

function sendChunks(key, chunks, change = (body) => body) {
  const { url, time, scope, sign, seed, headers } = signer(key, {
    "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
    "x-amz-decoded-content-length": String(chunks.join("").length),
    "content-encoding": "aws-chunked",
  });
  let previous = seed;
  const parts = [...chunks, ""].map((chunk) => {
    const kind = "AWS4-HMAC-SHA256-PAYLOAD";
    previous = sign([kind, time, scope, previous, sha256(""), sha256(chunk)].join("\n"));
    return `${chunk.length.toString(16)};chunk-signature=${previous}\r\n${chunk}\r\n`;
  });
  return fetch(url, { method: "PUT", headers, body: change(parts.join("")) });
}

test("names have all of Unicode where the setting says so", async () => {
  const other = await startPlinth({ args: ["--set", "plinth.storage.unicode_keys=true"] });
  try {
    const known = other.s3;
    const own = new S3.S3Client({
      endpoint: known.endpoint,
      region: known.region,
      forcePathStyle: true,
      credentials: { accessKeyId: known.accessKeyId, secretAccessKey: known.secretAccessKey },
    });
    await own.send(new S3.CreateBucketCommand({ Bucket: "files" }));
    const names = ["Grüße.txt", "日本語/файл.txt", "a#b%c~d\\e\"f", "<a&b>", "😀", "e\u0301", "[x]{y}^`|"];
    for (const Key of names) {
      await own.send(new S3.PutObjectCommand({ Bucket: "files", Key, Body: Key }));
      assert.equal(await text(await own.send(new S3.GetObjectCommand({ Bucket: "files", Key }))), Key);
      const link = await getSignedUrl(own, new S3.GetObjectCommand({ Bucket: "files", Key }), { expiresIn: 60 });
      assert.equal(await (await fetch(link)).text(), Key);
    }
    const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    const list = await own.send(new S3.ListObjectsV2Command({ Bucket: "files" }));
    assert.deepEqual(list.Contents.map(({ Key }) => Key), sorted);
    // The same by the other protocol, where names are part of the path as well.
    const storage = createClient(other.apiUrl, other.keys.secret).storage.from("files");
    for (const name of ["Grüße.txt", "日本語/файл.txt", "😀"]) {
      const { data, error } = await storage.download(name);
      assert.equal(error, null);
      assert.equal(await data.text(), name);
    }
    const { error } = await storage.upload("ключ", "x");
    assert.equal(error, null);
    await expectS3Error(own.send(new S3.PutObjectCommand({ Bucket: "files", Key: "a\u0001b", Body: "" })), 400, "InvalidKey");
  } finally {
    await other.stop();
  }
});
