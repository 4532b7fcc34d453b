import { providerName } from "../../lib/sign-in-methods";
import { findMark } from "./marks";

/** The provider's mark, or its initial in a circle. */
export function ProviderMark({ provider }: { provider: string }) {
  const mark = findMark(provider);
  if (!mark) {
    return (
      <span
        aria-hidden
        className="grid size-5 shrink-0 place-items-center rounded-full border border-line-strong text-[0.6875rem] leading-none font-semibold"
      >
        {providerName(provider).slice(0, 1)}
      </span>
    );
  }
  const ink = mark.ink ?? "#ffffff";
  return (
    <svg aria-hidden viewBox="0 0 24 24" className="size-5 shrink-0" data-provider={provider}>
      <rect width="24" height="24" rx="6" fill={mark.colour} />
      {mark.shapes && <path d={mark.shapes} fill={ink} />}
      {mark.lines && (
        <path
          d={mark.lines}
          fill="none"
          stroke={ink}
          strokeWidth="2"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
      )}
    </svg>
  );
}
