// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { array, number, object } from "../../lib/shape";
import { createApi } from "./api";

const Row = object({ id: number });
const session = (access_token: string) => ({ data: { session: { access_token } } });
const none = { data: { session: null } };

function setUp(answers: Response[], refreshed: typeof none | ReturnType<typeof session> = session("new")) {
  const call = vi.fn(async (_url: unknown, _init?: RequestInit) => answers.shift()!);
  const tokens = {
    getSession: vi.fn(async () => session("old")),
    refreshSession: vi.fn(async () => refreshed),
  };
  const tokensOf = () =>
    call.mock.calls.map(([, init]) => (init!.headers as Record<string, string>)["authorization"]);
  return { api: createApi("https://a.example", tokens, call as typeof fetch), call, tokens, tokensOf };
}

const refusal = () => Response.json({ code: "unauthorized", message: "expired" }, { status: 401 });

test("a request carries the operator's token, and its answer is parsed", async () => {
  const { api, call, tokensOf } = setUp([Response.json([{ id: 1, more: true }])]);

  expect(await api.get("/v1/projects", array(Row))).toEqual([{ id: 1 }]);
  expect(call.mock.calls[0]![0]).toBe("https://a.example/v1/projects");
  expect(tokensOf()).toEqual(["Bearer old"]);
});

test("a refused token is refreshed once, and the request sent again", async () => {
  const { api, tokens, tokensOf } = setUp([refusal(), Response.json({ id: 2 })]);

  expect(await api.post("/v1/projects", Row, { name: "a" })).toEqual({ id: 2 });
  expect(tokensOf()).toEqual(["Bearer old", "Bearer new"]);
  expect(tokens.refreshSession).toHaveBeenCalledOnce();
});

test("a token that is refused twice is a failure", async () => {
  const { api, call } = setUp([refusal(), refusal()]);

  await expect(api.get("/v1/projects", Row)).rejects.toMatchObject({ code: "unauthorized" });
  expect(call).toHaveBeenCalledTimes(2);
});

test("without a session nothing is sent", async () => {
  const { api, call } = setUp([refusal()], none);

  await expect(api.get("/a", Row)).rejects.toMatchObject({ code: "session_not_found" });
  expect(call).toHaveBeenCalledOnce();
});

test("other refusals are not answered by a new token", async () => {
  const { api, tokens } = setUp([Response.json({ code: "forbidden", message: "no" }, { status: 403 })]);

  await expect(api.get("/a", Row)).rejects.toMatchObject({ code: "forbidden" });
  expect(tokens.refreshSession).not.toHaveBeenCalled();
});

test("an answer of another shape names the path and the place", async () => {
  const { api } = setUp([Response.json([{ id: "1" }])]);

  await expect(api.get("/v1/projects?x=1", array(Row))).rejects.toMatchObject({
    code: "unexpected_answer",
    message: "/v1/projects: [0].id: expected a number, got string",
  });
});

test("the signal of the query reaches the request", async () => {
  const { api, call } = setUp([Response.json({ id: 1 })]);
  const { signal } = new AbortController();

  await api.get("/a", Row, { signal });

  expect(call.mock.calls[0]![1]!.signal).toBe(signal);
});
