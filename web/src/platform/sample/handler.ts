// The endpoints that the console calls, answered from the sample data.

import * as data from "./data";

const json = (body: unknown, status = 200) =>
  Response.json(body, { status, headers: { "x-request-id": "01jd2rk3yv" } });

const problem = (status: number, code: string, message: string) => json({ code, message }, status);

/** Keeps a stream open that says nothing but hello. */
function events(): Response {
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode("event: ready\ndata: {}\n\n")),
  });
  return new Response(stream, { headers: { "content-type": "text/event-stream" } });
}

type Handler = (match: RegExpExecArray, url: URL, body: unknown) => Response;

const all = [...data.projects, data.branch];

const routes: [method: string, path: RegExp, handler: Handler][] = [
  ["GET", /^\/platform\/me$/, () => json(data.me)],
  ["GET", /^\/platform\/setup$/, () => json({ needed: false, instance: "acme", mfa_required: true })],
  ["GET", /^\/platform\/events$/, events],
  ["GET", /^\/platform\/jobs$/, () => json(data.jobs)],
  ["POST", /^\/platform\/jobs\/(\w+)\/cancel$/, () => json({})],
  ["GET", /^\/v1\/projects$/, () => json(all)],
  ["GET", /^\/platform\/projects\/summary$/, () => json(data.summaries)],
  [
    "GET",
    /^\/platform\/projects\/(\w+)\/overview$/,
    ([, ref], url) => json(data.overview(ref!, (url.searchParams.get("range") ?? "24h") as "24h")),
  ],
  [
    "GET",
    /^\/platform\/projects\/(\w+)\/search$/,
    (_, url) => json(data.search(url.searchParams.get("q") ?? "")),
  ],
  ["GET", /^\/v1\/projects\/(\w+)\/health$/, ([, ref]) => json(data.health(ref!))],
  ["GET", /^\/v1\/projects\/(\w+)\/api-keys$/, () => json(data.apiKeys)],
  [
    "GET",
    /^\/v1\/projects\/(\w+)\/branches$/,
    ([, ref]) => json(ref === data.projects[0]!.ref ? data.branches : []),
  ],
  ["POST", /^\/v1\/projects\/(\w+)\/restore$/, () => json({})],
  [
    "POST",
    /^\/v1\/projects$/,
    (_, _url, body) => json({ ...data.projects[8], name: (body as { name: string }).name }, 201),
  ],
];

export async function answer(request: Request): Promise<Response> {
  const url = new URL(request.url);
  for (const [method, path, handler] of routes) {
    const match = request.method === method && path.exec(url.pathname);
    if (!match) continue;
    // oxlint-disable-next-line no-await-in-loop
    const text = await request.clone().text();
    return handler(match, url, text ? JSON.parse(text) : undefined);
  }
  return problem(404, "not_found", `Not available on Plinth: ${url.pathname}`);
}
