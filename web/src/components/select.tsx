import * as Ariakit from "@ariakit/react/select";
import clsx from "clsx";
import { Check, ChevronDown } from "lucide-react";
import type { ReactNode } from "react";

import { kitWords } from "../texts/kit-words";
import { words } from "../texts/words";
import { describedBy, inputClass, useFieldId } from "./field";
import { optionClass, popoverClass } from "./menu";

export type Option = { value: string; label: string; hint?: ReactNode; disabledReason?: string };

type Props = {
  label: string;
  name: string;
  value: string;
  onValue: (value: string) => void;
  options: readonly Option[];
  error?: string | undefined;
  hint?: ReactNode;
  /** Keeps the label for screen readers only, for toolbars. */
  isLabelHidden?: boolean;
  className?: string;
};

/** A choice of one from a list. */
export function SelectField({
  label,
  name,
  value,
  onValue,
  options,
  error,
  hint,
  isLabelHidden = false,
  className,
}: Props) {
  const id = useFieldId(name);
  const chosen = options.find((option) => option.value === value);
  return (
    <div className={clsx("grid content-start gap-1.5", className)}>
      <Ariakit.SelectProvider value={value} setValue={(next) => onValue(String(next))}>
        <Ariakit.SelectLabel
          className={clsx("text-label font-medium", isLabelHidden ? "sr-only" : "justify-self-start")}
        >
          {label}
        </Ariakit.SelectLabel>
        <Ariakit.Select
          id={id}
          aria-invalid={error ? true : undefined}
          aria-describedby={describedBy(id, error, hint)}
          className={clsx(
            inputClass,
            "flex items-center justify-between gap-2 text-start",
            isLabelHidden && "border-line! text-dense!",
          )}
        >
          <span className={clsx("min-w-0 truncate", !chosen && "text-soft")}>
            {chosen?.label ?? kitWords.notSet}
          </span>
          <ChevronDown aria-hidden className="size-4 shrink-0 text-soft" />
        </Ariakit.Select>
        <Ariakit.SelectPopover
          sameWidth
          gutter={4}
          overflowPadding={8}
          portal
          unmountOnHide
          className={clsx(popoverClass, "max-h-[min(22rem,var(--popover-available-height))] p-1")}
        >
          {options.map((option) => (
            <Ariakit.SelectItem
              key={option.value}
              value={option.value}
              disabled={!!option.disabledReason}
              className={clsx(optionClass, "aria-selected:font-medium")}
            >
              <span className="min-w-0 flex-1">
                {option.label}
                {(option.disabledReason ?? option.hint) && (
                  <span className="block text-xs font-normal text-soft">
                    {option.disabledReason ?? option.hint}
                  </span>
                )}
              </span>
              {option.value === value && <Check aria-hidden className="size-4 shrink-0 text-accent-text" />}
            </Ariakit.SelectItem>
          ))}
        </Ariakit.SelectPopover>
      </Ariakit.SelectProvider>
      {hint && (
        <div id={`${id}-hint`} className="text-dense text-soft">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} className="text-dense font-medium text-danger">
          <span className="sr-only">{words.errorMark}</span>
          {error}
        </p>
      )}
    </div>
  );
}
