import { formatDay, exactTime, relativeTime } from "../lib/dates";

type Props = { at: string; form?: "relative" | "day" | "exact" };

const forms = { relative: relativeTime, day: formatDay, exact: exactTime };

/** A formatted `<time>` with the exact time as its title. */
export function Time({ at, form = "relative" }: Props) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {forms[form](at)}
    </time>
  );
}
