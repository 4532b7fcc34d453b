// Times as people read them, in the language of the pages and the reader's time zone.

import * as texts from "../texts";
import { locale } from "./locale";

const exact = new Intl.DateTimeFormat(locale, { dateStyle: "long", timeStyle: "short" });
const day = new Intl.DateTimeFormat(locale, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(locale, { numeric: "auto" });

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 24 * 3600],
  ["month", 30 * 24 * 3600],
  ["week", 7 * 24 * 3600],
  ["day", 24 * 3600],
  ["hour", 3600],
  ["minute", 60],
];

export const exactTime = (at: string) => exact.format(new Date(at));

export const dayOf = (at: string) => day.format(new Date(at));

/** "2 hours ago"; less than a minute is now. */
export function relativeTime(at: string, now = Date.now()): string {
  const seconds = (new Date(at).getTime() - now) / 1000;
  const step = steps.find(([, size]) => Math.abs(seconds) >= size);
  if (!step) return texts.dates.justNow;
  return relative.format(Math.round(seconds / step[1]), step[0]);
}
