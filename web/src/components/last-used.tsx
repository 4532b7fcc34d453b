import * as texts from "../texts";

/** Marks what somebody chose the last time. */
export function LastUsed() {
  return (
    <span className="ms-1 rounded-full bg-sunk px-2 py-0.5 text-xs font-normal text-soft">
      {texts.common.lastUsed}
    </span>
  );
}
