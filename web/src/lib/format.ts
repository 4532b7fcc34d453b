// Numbers and sizes for people; the locale is the browser's (N11).

import { locale } from "./locale";

const whole = new Intl.NumberFormat(locale);
const compact = new Intl.NumberFormat(locale, { notation: "compact", maximumFractionDigits: 1 });
const oneDigit = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 });

export const formatNumber = (value: number) => whole.format(value);

/** 12.4K; small numbers as they are. */
export const formatCompact = (value: number) => (Math.abs(value) < 10_000 ? whole : compact).format(value);

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** In binary units. */
export function formatBytes(bytes: number): string {
  if (!Number.isFinite(bytes) || bytes < 0) return "–";
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${oneDigit.format(bytes / 1024 ** power)} ${units[power]}`;
}

export function formatMs(milliseconds: number): string {
  if (milliseconds < 1000) return `${oneDigit.format(milliseconds)} ms`;
  return `${oneDigit.format(milliseconds / 1000)} s`;
}
