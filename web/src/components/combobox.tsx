import * as Ariakit from "@ariakit/react/combobox";
import clsx from "clsx";
import { useMemo, useState } from "react";

import { fuzzyMatch } from "../lib/fuzzy";
import { kitWords } from "../texts/kit-words";
import { describedBy, FieldLayout, inputClass, useFieldId } from "./field";
import { optionClass, popoverClass } from "./menu";
import type { Option } from "./select";

type Props = {
  label: string;
  name: string;
  value: string;
  onValue: (value: string) => void;
  options: readonly Option[];
  /** Whether other values than the options may be typed. */
  allowsOther?: boolean;
  error?: string | undefined;
  hint?: string;
  placeholder?: string;
};

const maxShown = 50;

/** A text field that offers what matches. */
export function ComboboxField({
  label,
  name,
  value,
  onValue,
  options,
  allowsOther = false,
  error,
  hint,
  placeholder,
}: Props) {
  const id = useFieldId(name);
  const labelOf = (wanted: string) => options.find((option) => option.value === wanted)?.label ?? wanted;
  const [text, setText] = useState<string | null>(null);
  const shown = text ?? labelOf(value);

  const matches = useMemo(() => {
    if (!text) return options.slice(0, maxShown);
    return options
      .map((option) => ({ option, score: fuzzyMatch(text, option.label)?.score ?? -1 }))
      .filter(({ score }) => score >= 0)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, maxShown)
      .map(({ option }) => option);
  }, [options, text]);

  const choose = (next: string) => {
    onValue(next);
    setText(null);
  };
  const leave = () => {
    if (text === null) return;
    const exact = options.find((option) => option.label === text.trim());
    if (exact) choose(exact.value);
    else if (allowsOther || text === "") choose(text);
    else setText(null);
  };

  return (
    <FieldLayout id={id} label={label} error={error} hint={hint}>
      <Ariakit.ComboboxProvider
        value={shown}
        setValue={setText}
        selectedValue={value}
        setSelectedValue={choose}
        resetValueOnHide={false}
      >
        <Ariakit.Combobox
          id={id}
          name={name}
          placeholder={placeholder}
          autoComplete="list"
          autoSelect={!allowsOther}
          onBlur={leave}
          aria-invalid={error ? true : undefined}
          aria-describedby={describedBy(id, error, hint)}
          className={inputClass}
        />
        <Ariakit.ComboboxPopover
          sameWidth
          gutter={4}
          portal
          unmountOnHide
          aria-label={label}
          className={clsx(popoverClass, "max-h-[min(20rem,var(--popover-available-height))] p-1")}
        >
          {matches.map((option) => (
            <Ariakit.ComboboxItem key={option.value} value={option.value} className={optionClass}>
              <span className="min-w-0 flex-1 truncate">{option.label}</span>
              {option.hint && <span className="shrink-0 text-xs text-soft">{option.hint}</span>}
            </Ariakit.ComboboxItem>
          ))}
          {matches.length === 0 && <p className="px-2 py-1.5 text-soft">{kitWords.noMatches}</p>}
        </Ariakit.ComboboxPopover>
      </Ariakit.ComboboxProvider>
    </FieldLayout>
  );
}
