import { dayOf, exactTime, relativeTime } from "../lib/dates";

type Props = { at: string; form?: "relative" | "day" | "exact" };

const forms = { relative: relativeTime, day: dayOf, exact: exactTime };

/** A time that people and machines can read; the exact one is always at hand. */
export function Time({ at, form = "relative" }: Props) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {forms[form](at)}
    </time>
  );
}
