// A fake SMS provider (Twilio API) that records all messages.

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

import { eventually } from "./account.mjs";

/** Starts it; `settings` make Plinth send there, `codeTo(number)` is the newest code sent to a number. */
export async function startSmsProvider() {
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
  const messagesTo = (number) => messages.filter((message) => message.to === number);
  const codeTo = (number) => /\d{6,}/.exec(messagesTo(number).at(-1)?.body ?? "")?.[0];
  /** Waits for exactly this number of messages. */
  const expectCount = async (number, count) => {
    await eventually(() => messagesTo(number).length >= count);
    assert.equal(messagesTo(number).length, count, `messages to ${number}`);
  };
  return { settings, messagesTo, codeTo, expectCount, stop: () => server.close() };
}
