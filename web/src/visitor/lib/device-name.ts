// Readable device names from user agent strings.

import { texts } from "../texts";

const browsers: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\/|\bOpera\b/, "Opera"],
  [/\bSamsungBrowser\//, "Samsung Internet"],
  [/\bVivaldi\//, "Vivaldi"],
  [/\b(?:Firefox|FxiOS)\//, "Firefox"],
  [/\bHeadlessChrome\/|\bChrom(?:e|ium)\/|\bCriOS\//, "Chrome"],
  [/\bVersion\/[\d.]+.*\bSafari\//, "Safari"],
  [/\bcurl\//, "curl"],
  [/\bnode\b/i, "Node.js"],
  [/\bdart\b/i, texts.devices.flutterApp],
  [/\bokhttp\b/i, texts.devices.androidApp],
  [/\bCFNetwork\b/, texts.devices.appleApp],
];

const systems: [RegExp, string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "Mac"],
  [/\bLinux\b|\bX11\b/, "Linux"],
];

const find = (table: [RegExp, string][], text: string) => table.find(([pattern]) => pattern.test(text))?.[1];

/** "Firefox on Linux", or the part that is recognized. */
export function deviceName(userAgent: string | null | undefined): string {
  const text = userAgent ?? "";
  const browser = find(browsers, text);
  const system = find(systems, text);
  if (browser && system) return texts.devices.browserOn(browser, system);
  return browser ?? system ?? texts.devices.unknown;
}

/** Phones and tablets, which get another icon. */
export const isHandheld = (userAgent: string | null | undefined) =>
  /\b(?:iPhone|iPad|Android|Mobile)\b/.test(userAgent ?? "");
