// The most common kind of function: it queries the database as the caller.
import { createClient } from "npm:@supabase/supabase-js@2.119.0";

const client = createClient(Deno.env.get("SUPABASE_URL")!, Deno.env.get("SUPABASE_ANON_KEY")!);

Deno.serve(async (req) => {
  if (req.headers.get("apikey") === null) return new Response("ready");
  const { data, error } = await client.from("notes").select("id, text").eq("id", 7).single();
  return error === null ? Response.json(data) : Response.json(error, { status: 500 });
});
