import clsx from "clsx";
import { Search, X } from "lucide-react";
import { type Ref, useRef } from "react";

import { kitWords } from "../texts/kit-words";
import { inputClass } from "./field";
import { Keys } from "./keys";

type Props = {
  label: string;
  value: string;
  onValue: (value: string) => void;
  /** The key that focuses it. */
  keys?: string;
  className?: string;
  ref?: Ref<HTMLInputElement>;
};

/** A field that filters what is beside it. Escape clears it. */
export function SearchField({ label, value, onValue, keys, className, ref }: Props) {
  const own = useRef<HTMLInputElement>(null);
  const clear = () => {
    onValue("");
    own.current?.focus();
  };
  return (
    <div className={clsx("relative", className)}>
      <Search
        aria-hidden
        className="pointer-events-none absolute inset-y-0 start-2.5 my-auto size-4 text-soft"
      />
      <input
        ref={(element) => {
          own.current = element;
          if (typeof ref === "function") ref(element);
          else if (ref) ref.current = element;
        }}
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onValue(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || value === "") return;
          event.stopPropagation();
          clear();
        }}
        className={clsx(inputClass, "border-line! ps-8.5! pe-9! [&::-webkit-search-cancel-button]:hidden")}
      />
      {value !== "" ? (
        <button
          type="button"
          aria-label={kitWords.clear}
          onClick={clear}
          className="absolute inset-y-0 end-0.5 my-auto grid size-7 place-items-center rounded-md text-soft hover:text-text"
        >
          <X aria-hidden className="size-3.5" />
        </button>
      ) : (
        keys && (
          <span
            aria-hidden
            className="pointer-events-none absolute inset-y-0 end-2 my-auto flex items-center"
          >
            <Keys keys={keys} />
          </span>
        )
      )}
    </div>
  );
}
