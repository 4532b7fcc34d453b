import { expect, test, vi } from "vitest";

import { Failure } from "./failure";
import { createHttp } from "./http";

const answering = (response: Response) => {
  const call = vi.fn(async () => response);
  return { call, request: createHttp({ baseUrl: "/v1", headers: { apikey: "k" }, fetch: call }) };
};

test("JSON is sent and read", async () => {
  const { call, request } = answering(Response.json({ id: 1 }));

  expect(await request("/projects", { method: "POST", body: { name: "a" } })).toEqual({ id: 1 });
  expect(call).toHaveBeenCalledWith("/v1/projects", {
    method: "POST",
    signal: null,
    headers: { apikey: "k", "content-type": "application/json" },
    body: '{"name":"a"}',
  });
});

test("an answer without content is undefined", async () => {
  expect(await answering(new Response(null, { status: 204 })).request("/a")).toBeUndefined();
  expect(
    await answering(new Response("", { headers: { "content-length": "0" } })).request("/a"),
  ).toBeUndefined();
});

test.each([
  [{ code: "project_paused", message: "It is paused" }, 503, "server_error", "It is paused"],
  [{ code: "conflict", message: "Taken" }, 409, "conflict", "Taken"],
  [{ error_code: "weak_password", message: "Short" }, 422, "weak_password", "Short"],
  [{ code: 400, message: ["x"] }, 400, "unknown", ""],
  ["<html>", 404, "unknown", ""],
])("%j with %d fails as %s", async (body, status, code, message) => {
  const response =
    typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });

  await expect(answering(response).request("/a")).rejects.toMatchObject({ code, message });
});

test("a failure carries the request's id and when to try again", async () => {
  const headers = { "x-request-id": "01jd", "retry-after": "7" };
  const { request } = answering(Response.json({ code: "over_request_rate_limit" }, { status: 429, headers }));

  await expect(request("/a")).rejects.toMatchObject({ details: { requestId: "01jd", retryAfter: 7 } });
});

test("a failed connection is offline; an aborted request stays aborted", async () => {
  const failing = (error: Error) => createHttp({ baseUrl: "", fetch: () => Promise.reject(error) })("/a");

  await expect(failing(new TypeError("fetch failed"))).rejects.toMatchObject({ code: "offline" });
  await expect(failing(new TypeError("fetch failed"))).rejects.toBeInstanceOf(Failure);
  await expect(failing(new DOMException("aborted", "AbortError"))).rejects.toHaveProperty(
    "name",
    "AbortError",
  );
});
