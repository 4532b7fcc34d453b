// TOTP codes (RFC 6238), as an authenticator app computes them.

import { createHmac } from "node:crypto";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const period = 30_000;

/** The six-digit code for a secret at a time. */
export function totp(secret, at = Date.now()) {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(at / period)));
  const mac = createHmac("sha1", base32(secret)).update(counter).digest();
  const number = mac.readUInt32BE(mac.at(-1) & 0xf) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

function base32(text) {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, "0")).join("");
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}
