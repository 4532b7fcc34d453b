/** The sign of Plinth: what other things stand on. */
export function Mark({ className }: { className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 20 20" className={className}>
      <rect x="6.5" y="2.5" width="7" height="8" rx="1" fill="var(--accent)" />
      <rect x="4" y="11.5" width="12" height="2.6" rx="0.8" fill="var(--accent)" opacity="0.75" />
      <rect x="1.5" y="15" width="17" height="2.8" rx="0.8" fill="var(--accent)" opacity="0.5" />
    </svg>
  );
}
