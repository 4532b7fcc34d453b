// @vitest-environment happy-dom
import { expect, test, vi } from "vitest";

import { followEvents, type PlatformEvent, readMessages } from "./events";
import { staleKeys } from "./live";

const stream = (...chunks: string[]) =>
  new Response(
    new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
        controller.close();
      },
    }),
  );

async function messagesOf(response: Response) {
  const found = [];
  for await (const message of readMessages(response)) found.push(message);
  return found;
}

test.each([
  ["in one piece", ["id: 7\nevent: job.finished\ndata: {}\n\n"]],
  ["cut anywhere", ["id", ": 7\nev", "ent: job.fini", "shed\n", "data: {}\n", "\n"]],
  ["with carriage returns", ["id: 7\r", "\nevent: job.finished\r\ndata: {}\r\n", "\r\n"]],
  ["after a comment and without spaces", [": hello\n\nid:7\nevent:job.finished\ndata:{}\n\n"]],
])("a message is read %s", async (_, chunks) => {
  expect(await messagesOf(stream(...chunks))).toEqual([{ id: "7", event: "job.finished", data: "{}" }]);
});

test("lines of data are joined, and characters of several bytes survive a cut", async () => {
  const bytes = new TextEncoder().encode("data: ä\ndata: b\n\n");
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes.slice(0, 7));
      controller.enqueue(bytes.slice(7));
      controller.close();
    },
  });

  expect(await messagesOf(new Response(body))).toEqual([{ id: null, event: "message", data: "ä\nb" }]);
});

/** Follows streams one after the other, then stops. */
async function follow(responses: (Response | Error)[]) {
  const stop = new AbortController();
  const events: PlatformEvent[] = [];
  const states: boolean[] = [];
  const ids: (string | null)[] = [];
  const waits: number[] = [];
  await followEvents(
    {
      open: async (lastEventId) => {
        ids.push(lastEventId);
        const next = responses.shift();
        if (next instanceof Error) throw next;
        return next!;
      },
      onEvent: (event) => events.push(event),
      onState: (isLive) => states.push(isLive),
      wait: async (milliseconds) => {
        waits.push(milliseconds);
        if (responses.length === 0) stop.abort();
      },
    },
    stop.signal,
  );
  return { events, states, ids, waits };
}

test("a broken stream goes on behind the last event", async () => {
  const { ids, events } = await follow([
    stream('id: 4\nevent: job.started\ndata: {"type":"job.started","project":"abc"}\n\n'),
    stream("event: ready\ndata: {}\n\n"),
  ]);

  expect(ids).toEqual([null, "4"]);
  expect(events).toEqual([
    { type: "job.started", project: "abc", data: { type: "job.started", project: "abc" } },
    { type: "ready", project: undefined, data: {} },
  ]);
});

test("after a reset the old place is forgotten", async () => {
  const { ids } = await follow([
    stream("id: 4\ndata: {}\n\n"),
    stream("event: reset\ndata: {}\n\n"),
    stream(""),
  ]);

  expect(ids).toEqual([null, "4", null]);
});

test("a server that cannot be reached is asked ever less often, and that is told", async () => {
  const { waits, states } = await follow([new Error("a"), new Error("b"), new Error("c"), stream("")]);

  expect(waits).toEqual([1000, 2000, 4000, 1000]);
  expect(states).toEqual([false, false, true]);
});

test("without a stream, everything is refreshed every 30 seconds", async () => {
  const now = vi.spyOn(Date, "now");
  let time = 0;
  now.mockImplementation(() => (time += 20_000));

  const { events } = await follow(Array.from({ length: 6 }, () => new Error("down")));

  expect(events.map(({ type }) => type)).toEqual(["poll", "poll"]);
  now.mockRestore();
});

test.each<[PlatformEvent, unknown]>([
  [{ type: "job.finished", data: {} }, [["jobs"]]],
  [{ type: "project.paused", project: "abc", data: {} }, [["projects"], ["project", "abc"]]],
  [
    { type: "function.deployed", project: "abc", data: {} },
    [
      ["project", "abc", "functions"],
      ["project", "abc", "overview"],
    ],
  ],
  [{ type: "reset", data: {} }, "everything"],
  [{ type: "poll", data: {} }, "everything"],
  [{ type: "ready", data: {} }, []],
])("%j makes %j stale", (event, keys) => {
  expect(staleKeys(event)).toEqual(keys);
});
