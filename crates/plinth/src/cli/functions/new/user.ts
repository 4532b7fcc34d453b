// FUNCTION_NAME: responds with the address of the signed-in user.
//
//   const { data, error } = await supabase.functions.invoke("FUNCTION_NAME");
//
// Secrets come by `plinth secrets set`; read them with Deno.env.get("NAME").

const cors = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Headers":
    "authorization, x-client-info, apikey, content-type, x-retry-count, traceparent, tracestate, baggage",
  "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE, OPTIONS",
};

/** The user of the request's access token; undefined for API keys and expired tokens. */
async function userOf(request: Request): Promise<{ id: string; email?: string } | undefined> {
  const authorization = request.headers.get("Authorization");
  if (!authorization) return undefined;
  const response = await fetch(`${Deno.env.get("SUPABASE_URL")}/auth/v1/user`, {
    headers: { authorization, apikey: Deno.env.get("SUPABASE_ANON_KEY") ?? "" },
  });
  return response.ok ? await response.json() : undefined;
}

export default {
  async fetch(request: Request): Promise<Response> {
    // Browsers ask first, before they send anything else.
    if (request.method === "OPTIONS") return new Response("ok", { headers: cors });

    const user = await userOf(request);
    if (!user) {
      return Response.json({ message: "Sign in first" }, { status: 401, headers: cors });
    }
    return Response.json({ message: `Hello ${user.email ?? user.id}!` }, { headers: cors });
  },
};
