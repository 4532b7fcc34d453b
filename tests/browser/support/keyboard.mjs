// Keyboard-only navigation.

import assert from "node:assert/strict";

import { isFocused } from "./account.mjs";

/** More tab stops than any page has. */
const maxTabStops = 60;

/** Presses Tab until the target has the focus, and checks that the focus is visible. */
export async function tabTo(page, target) {
  await target.waitFor();
  for (let stops = 0; stops < maxTabStops; stops += 1) {
    if (await isFocused(target)) return assertFocusVisible(target);
    await page.keyboard.press("Tab");
  }
  assert.fail(`${target} cannot be reached by keyboard`);
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

/** The focused element has a visible indicator and is not covered. */
async function assertFocusVisible(target) {
  const state = await target.evaluate((element) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
    const hasRing = outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1;
    const { x, y, width, height } = element.getBoundingClientRect();
    const top = document.elementFromPoint(x + width / 2, y + height / 2);
    return {
      isMarked: hasRing || boxShadow !== "none",
      isOnTop: !!top && (element.contains(top) || top.contains(element)),
    };
  });
  assert.deepEqual(state, { isMarked: true, isOnTop: true }, String(target));
}
