import clsx from "clsx";

const isApple = /mac|iphone|ipad/i.test(globalThis.navigator?.platform ?? "");

/** As the keyboard in front of the user calls them. */
const names: Record<string, string> = isApple
  ? { mod: "⌘", shift: "⇧", alt: "⌥", enter: "↵", esc: "esc" }
  : { mod: "Ctrl", shift: "Shift", alt: "Alt", enter: "↵", esc: "Esc" };

/** "mod+k" as it is printed on keys; "g t" is one after the other. */
export function keyNames(keys: string): string[][] {
  return keys
    .split(" ")
    .map((chord) =>
      chord.split("+").map((key) => names[key] ?? (key.length === 1 ? key.toUpperCase() : key)),
    );
}

type Props = { keys: string; tone?: "plain" | "inverse" };

/** The keys of a shortcut. */
export function Keys({ keys, tone = "plain" }: Props) {
  return (
    <span className="inline-flex shrink-0 items-center gap-1.5">
      {keyNames(keys).map((chord, index) => (
        <span key={index} className="inline-flex gap-0.5">
          {chord.map((key) => (
            <kbd
              key={key}
              className={clsx(
                "grid h-[1.125rem] min-w-[1.125rem] place-items-center rounded-[0.25rem] px-1 font-sans text-[0.6875rem] leading-none",
                tone === "plain" ? "border border-line bg-sunk text-soft" : "bg-page/20 text-page",
              )}
            >
              {key}
            </kbd>
          ))}
        </span>
      ))}
    </span>
  );
}
