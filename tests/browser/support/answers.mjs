// What the page answers: see `answer` in site.mjs.

import assert from "node:assert/strict";

/** The data of an answer that must not be an error. */
export async function done(answer) {
  const { data, error } = await answer;
  assert.equal(error, null, JSON.stringify(error));
  return data;
}

/** Status and code of an answer that must be an error. */
export async function refusal(answer) {
  const { data, error } = await answer;
  assert.ok(error, `expected an error, not ${JSON.stringify(data)}`);
  return [error.status, error.code];
}
