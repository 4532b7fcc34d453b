import { exactTime, formatDay, relativeTime, utcTime } from "../lib/dates";

type Props = { at: string; form?: "relative" | "day" | "exact" | "utc" };

const forms = { relative: relativeTime, day: formatDay, exact: exactTime, utc: utcTime };

/** A formatted `<time>` with the exact local time and UTC as its title. */
export function Time({ at, form = "relative" }: Props) {
  return (
    <time dateTime={at} title={`${exactTime(at)} · ${utcTime(at)}`}>
      {forms[form](at)}
    </time>
  );
}
