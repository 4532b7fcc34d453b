import { texts } from "../texts";

/** Marks the sign-in method used last. */
export function LastUsed() {
  return (
    <span className="ms-1 rounded-full bg-sunk px-2 py-0.5 text-xs font-normal text-soft">
      {texts.common.lastUsed}
    </span>
  );
}
