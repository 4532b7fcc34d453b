// Storage policies by caller: each user has their own folder.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { apiError, expectData, expectError, startStorage, textOf } from "./support.mjs";

const ada = "00000000-0000-0000-0000-00000000000a";
const rui = "00000000-0000-0000-0000-00000000000b";

let plinth;
let home;
before(async () => {
  plinth = await startStorage();
  await plinth.bucket("home");
  home = (sub) => plinth.clientWithClaims({ sub }).storage.from("home");
});
after(() => plinth?.stop());

test("users reach their own files with every method, and no others", async () => {
  const mine = `${ada}/note.txt`;
  await expectData(home(ada).upload(mine, "mine"));
  assert.equal(await textOf(home(ada).download(mine)), "mine");
  assert.deepEqual((await expectData(home(ada).list(ada))).map(({ name }) => name), ["note.txt"]);

  const missing = apiError(404, "NoSuchKey", "Object not found");
  const denied = apiError(403, "AccessDenied", "new row violates row-level security policy");
  const other = home(rui);
  assert.deepEqual(await expectError(other.info(mine)), missing);
  assert.deepEqual(await expectError(other.createSignedUrl(mine, 60)), missing);
  assert.deepEqual(await expectError(other.move(mine, `${rui}/note.txt`)), missing);
  assert.deepEqual(await expectError(other.copy(mine, `${rui}/note.txt`)), missing);
  assert.deepEqual(await expectError(other.upload(`${ada}/new.txt`, "x")), denied);
  assert.deepEqual(await expectError(other.upload(mine, "x", { upsert: true })), denied);
  assert.deepEqual(await expectError(other.createSignedUploadUrl(`${ada}/new.txt`)), denied);
  assert.deepEqual(await expectData(other.remove([mine])), []);
  assert.deepEqual(await expectData(other.list(ada)), []);
  assert.equal((await other.exists(mine)).data, false);
  assert.ok((await other.download(mine)).error);
  assert.equal(await textOf(home(ada).download(mine)), "mine");

  await expectData(home(ada).move(mine, `${ada}/moved.txt`));
  await expectData(home(ada).upload(`${ada}/moved.txt`, "again", { upsert: true }));
  assert.equal((await expectData(home(ada).remove([`${ada}/moved.txt`]))).length, 1);
});

test("a user signed in through the auth service owns what they upload", async () => {
  const eve = plinth.client();
  const { user } = await expectData(
    eve.auth.signUp({ email: "eve@mail.dev", password: "correct horse battery" }),
  );
  const files = eve.storage.from("home");
  await expectData(files.upload(`${user.id}/a.txt`, "hello"));
  const [removed] = await expectData(files.remove([`${user.id}/a.txt`]));
  assert.equal(removed.owner_id, user.id);
  assert.equal(removed.owner, user.id);
});

test("the anonymous key and bad tokens reach nothing private", async () => {
  const path = `${ada}/private.txt`;
  await expectData(home(ada).upload(path, "x"));
  const anon = plinth.client().storage.from("home");
  assert.equal((await expectError(anon.upload(`${ada}/new.txt`, "x"))).statusCode, "403");
  assert.equal((await expectError(anon.info(path))).code, "NoSuchKey");
  assert.deepEqual(await expectData(anon.list(ada)), []);

  const expired = plinth.clientWithClaims({ sub: ada, exp: 1 }).storage.from("home");
  assert.deepEqual(
    await expectError(expired.upload(`${ada}/new.txt`, "x")),
    apiError(403, "AccessDenied", '"exp" claim timestamp check failed'),
  );
  // An invalid token is treated as anonymous, and does not reveal that the bucket exists.
  await assert.rejects(expired.exists(path), { code: "NoSuchBucket" });
  const forged = plinth.client("sb_secret_forged").storage;
  assert.equal((await expectError(forged.listBuckets())).message, "Invalid API key");
});
