// Date formatting in the UI language and the user's time zone.

import { words } from "../texts/words";
import { locale } from "./locale";

const exact = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 24 * 3600],
  ["month", 30 * 24 * 3600],
  ["week", 7 * 24 * 3600],
  ["day", 24 * 3600],
  ["hour", 3600],
  ["minute", 60],
];

export const exactTime = (at: string) => exact.format(new Date(at));

/** `2026-11-19 20:04:31 UTC`: what logs and colleagues elsewhere say. */
export const utcTime = (at: string) =>
  new Date(at)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d+Z$/, " UTC");

export const formatDay = (at: string) => day.format(new Date(at));

/** "2 hours ago"; under a minute is "just now". */
export function relativeTime(at: string, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const unit = units.find(([, size]) => Math.abs(seconds) >= size);
  if (!unit) return words.justNow;
  return relative.format(Math.round(seconds / unit[1]), unit[0]);
}
