import { expect, test } from "vitest";

import { done, Failure, noteRefusal, toFailure } from "./failure";

test("answers become data or a failure", async () => {
  await expect(done(Promise.resolve({ data: { a: 1 }, error: null }))).resolves.toEqual({ a: 1 });
  const refused = done(
    Promise.resolve({ data: null, error: { code: "user_banned", message: "no", status: 400 } }),
  );
  await expect(refused).rejects.toMatchObject({ code: "user_banned", message: "no" });
});

test("no answer is told from a bad one", () => {
  const name = "AuthRetryableFetchError";
  expect(toFailure({ name, message: "", status: 0 }).code).toBe("offline");
  expect(toFailure({ name, message: "", status: 503 }).code).toBe("server_error");
  expect(toFailure({ name: "AuthSessionMissingError", message: "" }).code).toBe("session_not_found");
  const own = new Failure("cancelled", "");
  expect(toFailure(own)).toBe(own);
});

const none = { retryAfter: null, requestId: null };

function answer(status: number, body: object, headers: Record<string, string>) {
  return new Response(JSON.stringify(body), { status, headers });
}

test("a failure carries what its own answer said, and no other's", async () => {
  const code = "over_email_send_rate_limit";
  await noteRefusal(answer(429, { code }, { "retry-after": "40", "x-request-id": "r-1" }));
  await noteRefusal(answer(422, { error_code: "weak_password", code: 422 }, { "x-request-id": "r-2" }));
  await noteRefusal(answer(503, {}, { "x-request-id": "r-3" }));
  await noteRefusal(new Response("not JSON", { status: 400, headers: { "x-request-id": "r-4" } }));

  const details = (error: object) => toFailure({ message: "", ...error }).details;
  expect(details({ code: "weak_password", status: 422 })).toEqual({ retryAfter: null, requestId: "r-2" });
  expect(details({ code, status: 429 })).toEqual({ retryAfter: 40, requestId: "r-1" });
  expect(details({ name: "AuthRetryableFetchError", status: 503 }).requestId).toBe("r-3");
  expect(details({ status: 400 }).requestId).toBe("r-4");
});

test("what an earlier answer said is not said again", async () => {
  const code = "over_request_rate_limit";
  await noteRefusal(answer(429, { code }, { "retry-after": "40", "x-request-id": "r-1" }));
  const details = (error: object) => toFailure({ message: "", ...error }).details;

  expect(details({ name: "AuthRetryableFetchError", status: 0 })).toEqual(none);
  expect(details({ name: "NotAllowedError" })).toEqual(none);
  expect(details({ code: "user_banned", status: 429 })).toEqual(none);
  expect(details({ code, status: 429 }).requestId).toBe("r-1");
  expect(details({ code, status: 429 })).toEqual(none);
});
