import { expect, test } from "vitest";

import { unwrap, Failure, recordErrorResponse, toFailure } from "./failure";

test("results become data or a failure", async () => {
  await expect(unwrap(Promise.resolve({ data: { a: 1 }, error: null }))).resolves.toEqual({ a: 1 });
  const rejected = unwrap(
    Promise.resolve({ data: null, error: { code: "user_banned", message: "no", status: 400 } }),
  );
  await expect(rejected).rejects.toMatchObject({ code: "user_banned", message: "no" });
});

test("no response and an error response have different codes", () => {
  const name = "AuthRetryableFetchError";
  expect(toFailure({ name, message: "", status: 0 }).code).toBe("offline");
  expect(toFailure({ name, message: "", status: 503 }).code).toBe("server_error");
  expect(toFailure({ name: "AuthSessionMissingError", message: "" }).code).toBe("session_not_found");
  const own = new Failure("cancelled", "");
  expect(toFailure(own)).toBe(own);
});

const none = { retryAfter: null, requestId: null };

function response(status: number, body: object, headers: Record<string, string>) {
  return new Response(JSON.stringify(body), { status, headers });
}

test("a failure carries the headers of its own response only", async () => {
  const code = "over_email_send_rate_limit";
  await recordErrorResponse(response(429, { code }, { "retry-after": "40", "x-request-id": "r-1" }));
  await recordErrorResponse(
    response(422, { error_code: "weak_password", code: 422 }, { "x-request-id": "r-2" }),
  );
  await recordErrorResponse(response(503, {}, { "x-request-id": "r-3" }));
  await recordErrorResponse(new Response("not JSON", { status: 400, headers: { "x-request-id": "r-4" } }));

  const details = (error: object) => toFailure({ message: "", ...error }).details;
  expect(details({ code: "weak_password", status: 422 })).toEqual({ retryAfter: null, requestId: "r-2" });
  expect(details({ code, status: 429 })).toEqual({ retryAfter: 40, requestId: "r-1" });
  expect(details({ name: "AuthRetryableFetchError", status: 503 }).requestId).toBe("r-3");
  expect(details({ status: 400 }).requestId).toBe("r-4");
});

test("the headers of a response are used once", async () => {
  const code = "over_request_rate_limit";
  await recordErrorResponse(response(429, { code }, { "retry-after": "40", "x-request-id": "r-1" }));
  const details = (error: object) => toFailure({ message: "", ...error }).details;

  expect(details({ name: "AuthRetryableFetchError", status: 0 })).toEqual(none);
  expect(details({ name: "NotAllowedError" })).toEqual(none);
  expect(details({ code: "user_banned", status: 429 })).toEqual(none);
  expect(details({ code, status: 429 }).requestId).toBe("r-1");
  expect(details({ code, status: 429 })).toEqual(none);
});
