// Packages from custom registries: JSR, and npm with an auth token (functions contract §6). TLS servers whose
// certificates are trusted only by the operator's system.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";

import { startFunctions } from "./support.mjs";

const token = "a-token-of-the-registry";
const code = "export const word = 'kept elsewhere';\n";

let registry;
let certified;
let inside;
let plinth;
before(async () => {
  registry = createServer(handleRequest).listen(0, "127.0.0.1");
  await once(registry, "listening");
  const host = `127.0.0.1:${registry.address().port}`;
  certified = createCertificate();
  inside = createSecureServer(certified, (_request, response) => response.end("only for us"));
  await once(inside.listen(0, "127.0.0.1"), "listening");
  const insideUrl = `https://127.0.0.1:${inside.address().port}/`;
  const saying = (from) => `import { word } from "${from}";\nDeno.serve(() => new Response(word));\n`;
  plinth = await startFunctions(
    {
      jsr: saying("jsr:@acme/word@1"),
      npm: saying("npm:@acme/word@1.0.0"),
      "npm/.npmrc": `@acme:registry=http://${host}/npm/\n//${host}/npm/:_authToken=${token}\n`,
      trusting: `Deno.serve(() => fetch("${insideUrl}"));\n`,
    },
    { "plinth.functions.reachable_networks": ["127.0.0.1"] },
    { JSR_URL: `http://${host}/jsr/`, SSL_CERT_FILE: certified.file },
  );
});
after(async () => {
  await plinth?.stop();
  registry?.close();
  inside?.close();
  certified?.remove();
});

const call = (name) =>
  fetch(`${plinth.apiUrl}/functions/v1/${name}`, { headers: { apikey: plinth.keys.publishable } });

test("packages come from the configured JSR registry", async () => {
  const response = await call("jsr");
  assert.deepEqual([response.status, await response.text()], [200, "kept elsewhere"]);
});

test("packages come from the registry that stands beside the function, with its token", async () => {
  const response = await call("npm");
  assert.deepEqual([response.status, await response.text()], [200, "kept elsewhere"]);
});

test("a function believes the certificates that the server's system believes", async () => {
  const response = await call("trusting");
  assert.deepEqual([response.status, await response.text()], [200, "only for us"]);
});

/** A self-signed certificate for 127.0.0.1, in a file that workers may read. */
function createCertificate() {
  const folder = mkdtempSync(join(tmpdir(), "plinth-certificate-"));
  chmodSync(folder, 0o755);
  const [config, key, file] = ["config", "key.pem", "certificate.pem"].map((name) => join(folder, name));
  writeFileSync(config, "[req]\ndistinguished_name = name\n[name]\n");
  // Not a CA certificate, which is not accepted for a server.
  const extensions = ["subjectAltName=IP:127.0.0.1", "basicConstraints=critical,CA:FALSE"];
  execFileSync("openssl", [
    ...["req", "-x509", "-config", config, "-subj", "/CN=localhost", "-days", "2", "-nodes"],
    ...["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-keyout", key, "-out", file],
    ...extensions.flatMap((extension) => ["-addext", extension]),
  ], { stdio: "pipe" });
  const remove = () => rmSync(folder, { recursive: true });
  return { key: readFileSync(key), cert: readFileSync(file), file, remove };
}

function handleRequest(request, response) {
  const path = decodeURIComponent(request.url);
  const found = path.startsWith("/npm/") ? npm(path, request) : jsr(path);
  response.writeHead(found ? 200 : 404);
  response.end(found);
}

function jsr(path) {
  switch (path) {
    case "/jsr/@acme/word/meta.json":
      return JSON.stringify({ scope: "acme", name: "word", latest: "1.0.0", versions: { "1.0.0": {} } });
    case "/jsr/@acme/word/1.0.0_meta.json": {
      const checksum = `sha256-${createHash("sha256").update(code).digest("hex")}`;
      return JSON.stringify({
        manifest: { "/mod.ts": { size: code.length, checksum } },
        exports: { ".": "./mod.ts" },
      });
    }
    case "/jsr/@acme/word/1.0.0/mod.ts":
      return code;
    default:
      return undefined;
  }
}

function npm(path, request) {
  if (request.headers.authorization !== `Bearer ${token}`) return undefined;
  const tarball = pack({
    "package/package.json": JSON.stringify({ name: "@acme/word", version: "1.0.0", type: "module", main: "mod.js" }),
    "package/mod.js": code,
  });
  if (path.endsWith(".tgz")) return tarball;
  const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
  const dist = { tarball: `http://${request.headers.host}/npm/@acme/word/-/word-1.0.0.tgz`, integrity };
  const version = { name: "@acme/word", version: "1.0.0", dist };
  return JSON.stringify({
    name: "@acme/word",
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": version },
  });
}

/** An npm tarball. */
function pack(files) {
  const blocks = Object.entries(files).flatMap(([name, text]) => {
    const header = Buffer.alloc(512);
    header.write(name, 0);
    header.write("0000644\0", 100);
    header.write(`${Buffer.byteLength(text).toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write("0", 156);
    header.write("ustar\0" + "00", 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
    body.write(text);
    return [header, body];
  });
  // Without a date, so that the tarball is reproducible.
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}
