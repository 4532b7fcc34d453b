// A provider of text messages beside the test: it takes everything, and keeps it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { soon } from "./account.mjs";

/** Listens; `settings` make Plinth send there, `codeTo(number)` is the newest code somebody got. */
export async function listenAsSms() {
  const messages = [];
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(await text(request));
    messages.push({ to: form.get("To"), body: form.get("Body"), channel: form.get("Channel") });
    response.setHeader("content-type", "application/json").writeHead(201);
    response.end(JSON.stringify({ sid: `SM${messages.length}`, status: "queued" }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const settings = {
    "auth.sms.twilio.enabled": true,
    "auth.sms.twilio.account_sid": "AC1",
    "auth.sms.twilio.auth_token": "for tests only",
    "auth.sms.twilio.message_service_sid": "MG1",
    "plinth.auth.sms.base_url": `http://127.0.0.1:${server.address().port}`,
  };
  const to = (number) => messages.filter((message) => message.to === number);
  const codeTo = (number) => /\d{6,}/.exec(to(number).at(-1)?.body ?? "")?.[0];
  /** Waits for so many messages to somebody; more would be a surprise. */
  const arrived = async (number, count) => {
    await soon(() => to(number).length >= count);
    assert.equal(to(number).length, count, `messages to ${number}`);
  };
  return { settings, to, codeTo, arrived, stop: () => server.close() };
}
