import { expect, test } from "vitest";

import { done, Failure, toFailure } from "./failure";

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
