import clsx from "clsx";
import { type ReactNode, useId } from "react";

type Props = {
  label: ReactNode;
  hint?: ReactNode;
  isOn: boolean;
  onSwitch: (isOn: boolean) => void;
  /** Why it cannot be changed; also disables it. */
  disabledReason?: string | undefined;
};

/** An on/off setting that applies at once or with its form. */
export function Switch({ label, hint, isOn, onSwitch, disabledReason }: Props) {
  const id = useId();
  const note = disabledReason ?? hint;
  return (
    <div className="flex items-start justify-between gap-4">
      <div className="grid gap-0.5">
        <label htmlFor={id} className="text-label font-medium">
          {label}
        </label>
        {note && (
          <div id={`${id}-hint`} className="text-dense text-soft">
            {note}
          </div>
        )}
      </div>
      {/* Its label is the element above. */}
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label */}
      <button
        type="button"
        role="switch"
        id={id}
        aria-checked={isOn}
        aria-disabled={disabledReason ? true : undefined}
        aria-describedby={note ? `${id}-hint` : undefined}
        onClick={() => !disabledReason && onSwitch(!isOn)}
        className={clsx(
          "relative mt-px h-6 w-10 shrink-0 rounded-full border transition-colors duration-(--ease)",
          isOn ? "border-accent bg-accent" : "border-line-strong bg-sunk",
          disabledReason && "opacity-60",
        )}
      >
        <span
          aria-hidden
          className={clsx(
            "absolute inset-y-[0.1875rem] size-4 rounded-full transition-[inset-inline-start,background-color] duration-(--ease)",
            isOn ? "start-[1.1875rem] bg-on-accent" : "start-[0.1875rem] bg-line-strong",
          )}
        />
      </button>
    </div>
  );
}
