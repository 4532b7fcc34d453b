// Assertions on results of client calls in a page: see `toResult` in site.mjs.

import assert from "node:assert/strict";

/** Returns the data of a result, which must not be an error. */
export async function expectData(result) {
  const { data, error } = await result;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** Returns status and code of a result, which must be an error. */
export async function expectError(result) {
  const { data, error } = await result;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  return [error.status, error.code];
}
