import clsx from "clsx";

type Segment<T extends string> = {
  value: T;
  label: string;
  /** The long form, for screen readers. */ title?: string;
};

type Props<T extends string> = {
  label: string;
  value: T;
  options: readonly Segment<T>[];
  onValue: (value: T) => void;
};

/** A choice between few short values, all in view. */
export function Segments<T extends string>({ label, value, options, onValue }: Props<T>) {
  return (
    <div role="group" aria-label={label} className="inline-flex rounded-md border border-line bg-sunk p-0.5">
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          aria-label={option.title}
          onClick={() => onValue(option.value)}
          className={clsx(
            "min-h-[calc(var(--control)-0.375rem)] rounded-[0.25rem] px-2.5 text-dense transition-colors duration-(--ease)",
            option.value === value
              ? "bg-surface font-medium text-text shadow-card"
              : "text-soft hover:text-text",
          )}
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
