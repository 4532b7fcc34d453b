// Whose files a caller reaches: everybody signed in has a folder of their own.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { dataOf, refusal, refusalOf, startStorage, textOf } from "./support.mjs";

const ada = "00000000-0000-0000-0000-00000000000a";
const rui = "00000000-0000-0000-0000-00000000000b";

let plinth;
let home;
before(async () => {
  plinth = await startStorage();
  await plinth.bucket("home");
  home = (sub) => plinth.clientOf({ sub }).storage.from("home");
});
after(() => plinth?.stop());

test("everybody reaches their own files with every method, and nobody else's", async () => {
  const mine = `${ada}/note.txt`;
  await dataOf(home(ada).upload(mine, "mine"));
  assert.equal(await textOf(home(ada).download(mine)), "mine");
  assert.deepEqual((await dataOf(home(ada).list(ada))).map(({ name }) => name), ["note.txt"]);

  const missing = refusal(404, "NoSuchKey", "Object not found");
  const denied = refusal(403, "AccessDenied", "new row violates row-level security policy");
  const other = home(rui);
  assert.deepEqual(await refusalOf(other.info(mine)), missing);
  assert.deepEqual(await refusalOf(other.createSignedUrl(mine, 60)), missing);
  assert.deepEqual(await refusalOf(other.move(mine, `${rui}/note.txt`)), missing);
  assert.deepEqual(await refusalOf(other.copy(mine, `${rui}/note.txt`)), missing);
  assert.deepEqual(await refusalOf(other.upload(`${ada}/new.txt`, "x")), denied);
  assert.deepEqual(await refusalOf(other.upload(mine, "x", { upsert: true })), denied);
  assert.deepEqual(await refusalOf(other.createSignedUploadUrl(`${ada}/new.txt`)), denied);
  assert.deepEqual(await dataOf(other.remove([mine])), []);
  assert.deepEqual(await dataOf(other.list(ada)), []);
  assert.equal((await other.exists(mine)).data, false);
  assert.ok((await other.download(mine)).error);
  assert.equal(await textOf(home(ada).download(mine)), "mine");

  await dataOf(home(ada).move(mine, `${ada}/moved.txt`));
  await dataOf(home(ada).upload(`${ada}/moved.txt`, "again", { upsert: true }));
  assert.equal((await dataOf(home(ada).remove([`${ada}/moved.txt`]))).length, 1);
});

test("whoever signs in through the accounts service owns what they upload", async () => {
  const person = plinth.client();
  const { user } = await dataOf(
    person.auth.signUp({ email: "eve@mail.dev", password: "correct horse battery" }),
  );
  const files = person.storage.from("home");
  await dataOf(files.upload(`${user.id}/a.txt`, "hello"));
  const [removed] = await dataOf(files.remove([`${user.id}/a.txt`]));
  assert.equal(removed.owner_id, user.id);
  assert.equal(removed.owner, user.id);
});

test("the anonymous key and bad tokens reach nothing private", async () => {
  const path = `${ada}/private.txt`;
  await dataOf(home(ada).upload(path, "x"));
  const anon = plinth.client().storage.from("home");
  assert.equal((await refusalOf(anon.upload(`${ada}/new.txt`, "x"))).statusCode, "403");
  assert.equal((await refusalOf(anon.info(path))).code, "NoSuchKey");
  assert.deepEqual(await dataOf(anon.list(ada)), []);

  const expired = plinth.clientOf({ sub: ada, exp: 1 }).storage.from("home");
  assert.deepEqual(
    await refusalOf(expired.upload(`${ada}/new.txt`, "x")),
    refusal(403, "AccessDenied", '"exp" claim timestamp check failed'),
  );
  // Whoever shows a bad token is nobody, and nobody learns that the bucket exists.
  await assert.rejects(expired.exists(path), { code: "NoSuchBucket" });
  const forged = plinth.client("sb_secret_forged").storage;
  assert.equal((await refusalOf(forged.listBuckets())).statusCode, "403");
});
