// A common kind of function: it receives a signed webhook event.
const encoder = new TextEncoder();
const secret = encoder.encode("the secret of the sender");
const key = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);

Deno.serve(async (req) => {
  if (req.method === "GET") return new Response("ready");
  const text = await req.text();
  const pairs = req.headers.get("x-signature")?.match(/../g) ?? [];
  const signature = Uint8Array.from(pairs, (pair) => parseInt(pair, 16));
  const isGenuine = await crypto.subtle.verify("HMAC", key, signature, encoder.encode(text));
  if (!isGenuine) return new Response("forged", { status: 400 });
  const { type, data } = JSON.parse(text);
  const total = data.items.reduce((sum: number, item: { quantity: number; price: number }) => sum + item.quantity * item.price, 0);
  return Response.json({ received: type, total, currency: data.currency });
});
