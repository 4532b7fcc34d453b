// FUNCTION_NAME: answers with a greeting.
//
//   curl "$FUNCTIONS_URL/FUNCTION_NAME" -H "apikey: $PUBLISHABLE_KEY" --json '{"name":"Ada"}'
//
// `plinth status` prints both values. Secrets come by `plinth secrets set`; read them with
// Deno.env.get("NAME").

const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers":
    "authorization, x-client-info, apikey, content-type, x-retry-count, traceparent, tracestate, baggage",
  "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
};

export default {
  async fetch(request: Request): Promise<Response> {
    // Browsers ask first, before they send anything else.
    if (request.method === "OPTIONS") return new Response("ok", { headers: cors });

    const { name = "world" } = await request.json().catch(() => ({}));
    return Response.json({ message: `Hello ${name}!` }, { headers: cors });
  },
};
