import { providerName } from "../../lib/methods";

/** A letter in a ring: no provider's artwork, and nothing to load from elsewhere. */
export function ProviderMark({ provider }: { provider: string }) {
  return (
    <span
      aria-hidden
      className="grid size-5 place-items-center rounded-full border border-line-strong text-[0.6875rem] leading-none font-semibold"
    >
      {providerName(provider).slice(0, 1)}
    </span>
  );
}
