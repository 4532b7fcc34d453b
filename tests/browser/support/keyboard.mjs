// Somebody without a pointer.

import assert from "node:assert/strict";

import { isFocused } from "./account.mjs";

/** More than any page has. */
const mostStops = 60;

/** Goes on with the tab key until something has the focus, and sees that it can be seen there. */
export async function tabTo(page, target) {
  await target.waitFor();
  for (let stops = 0; stops < mostStops; stops += 1) {
    if (await isFocused(target)) return see(target);
    await page.keyboard.press("Tab");
  }
  assert.fail(`${target} is out of reach`);
}

export async function typeInto(page, target, text) {
  await tabTo(page, target);
  await page.keyboard.press("Control+A");
  await page.keyboard.type(text);
}

export async function pressOn(page, target, key = "Enter") {
  await tabTo(page, target);
  await page.keyboard.press(key);
}

/** The focus shows, and nothing is laid over it. */
async function see(target) {
  const seen = await target.evaluate((element) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const hasRing = outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1;
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    return {
      isMarked: hasRing || boxShadow !== "none",
      isOnTop: !!top && (element.contains(top) || top.contains(element)),
    };
  });
  assert.deepEqual(seen, { isMarked: true, isOnTop: true }, String(target));
}
