type Props = {
  label: string;
  done: number;
  /** Zero if it is not known. */
  total: number;
};

/** A bar for work that knows its length; one that only moves for work that does not. */
export function Progress({ label, done, total }: Props) {
  const share = total > 0 ? Math.min(1, done / total) : null;
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      className="h-1.5 overflow-hidden rounded-full bg-sunk"
    >
      {share === null ? (
        <div className="h-full w-1/3 animate-pulse rounded-full bg-accent" />
      ) : (
        <div
          className="h-full rounded-full bg-accent transition-[inline-size] duration-(--ease)"
          style={{ inlineSize: `${share * 100}%` }}
        />
      )}
    </div>
  );
}
