// What happens on the platform, as server-sent events (console contract F91).
//
// Read by `fetch`, because `EventSource` cannot send the access token. A stream that breaks goes on behind the
// last id that was seen; if the server no longer knows it, it says `reset`. While no stream can be opened,
// what is on screen is refreshed every 30 seconds; while the page is hidden, there is neither (N15).

export type PlatformEvent = {
  /** Such as `job.finished`; `ready`, `reset` and `poll` are about the stream itself. */
  type: string;
  project?: string | undefined;
  data: Record<string, unknown>;
};

type Options = {
  open: (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;
  onEvent: (event: PlatformEvent) => void;
  onState?: (isLive: boolean) => void;
  /** For tests. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<void>;
};

const pollIntervalMs = 30_000;
const maxDelayMs = 30_000;
/** The server sends something every 15 seconds. */
const silenceMs = 40_000;

/** Follows the stream until the signal aborts. */
export async function followEvents(options: Options, signal: AbortSignal): Promise<void> {
  const { open, onEvent, onState = () => {}, wait = waitFor } = options;
  let lastEventId: string | null = null;
  let failures = 0;
  let lastPoll = Date.now();
  while (!signal.aborted) {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    signal.addEventListener("abort", abort);
    try {
      // oxlint-disable-next-line no-await-in-loop
      const response = await open(lastEventId, attempt.signal);
      failures = 0;
      onState(true);
      // oxlint-disable-next-line no-await-in-loop
      for await (const message of readMessages(response, abort)) {
        if (message.id !== null) lastEventId = message.id;
        if (message.event === "reset") lastEventId = null;
        onEvent(toEvent(message));
      }
    } catch {
      // Offline, refused, or a proxy that ends streams: tried again below.
    } finally {
      signal.removeEventListener("abort", abort);
    }
    if (signal.aborted) return;
    failures += 1;
    if (failures > 1) onState(false);
    // oxlint-disable-next-line no-await-in-loop
    await wait(Math.min(maxDelayMs, 500 * 2 ** failures), signal);
    if (failures > 1 && Date.now() - lastPoll >= pollIntervalMs) {
      lastPoll = Date.now();
      onEvent({ type: "poll", data: {} });
    }
  }
}

export type Message = { id: string | null; event: string; data: string };

/** Parses a stream of server-sent events; `onSilence` runs if nothing comes for too long. */
export async function* readMessages(response: Response, onSilence = () => {}): AsyncGenerator<Message> {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let timer = setTimeout(onSilence, silenceMs);
  let rest = "";
  let message: Message = { id: null, event: "message", data: "" };
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(onSilence, silenceMs);
      rest += value;
      // A carriage return at the end may be the first half of a line's end.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") readLine(message, line);
        else {
          if (message.data !== "" || message.event !== "message") yield message;
          message = { id: null, event: "message", data: "" };
        }
      }
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

function readLine(message: Message, line: string): void {
  const [, field, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
  if (field === "id") message.id = value;
  if (field === "event") message.event = value;
  if (field === "data") message.data += (message.data === "" ? "" : "\n") + value;
}

function toEvent({ event, data }: Message): PlatformEvent {
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(data) as Record<string, unknown>;
  } catch {
    // An event of the stream itself has no body.
  }
  const type = typeof body["type"] === "string" ? body["type"] : event;
  const project = typeof body["project"] === "string" ? body["project"] : undefined;
  return { type, project, data: body };
}

function waitFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener("abort", finish);
  });
}
