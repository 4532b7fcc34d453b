import * as Ariakit from "@ariakit/react";
import clsx from "clsx";
import { Search } from "lucide-react";
import { type ReactElement, type ReactNode, useMemo, useState } from "react";

import { fuzzyMatch } from "../lib/fuzzy";
import { kitWords } from "../texts/kit-words";
import { optionClass, popoverClass } from "./menu";

export type SearchItem = {
  id: string;
  /** What is searched. */
  text: string;
  /** How it is shown; the text if absent. */
  content?: ReactNode;
  /** More words that find it. */
  alias?: string;
};

export type SearchGroup = { label: string; items: readonly SearchItem[] };

type Props = {
  button: ReactElement;
  /** Name of the list and of its field. */
  label: string;
  groups: readonly SearchGroup[];
  onSelect: (id: string) => void;
  /** For menus that are loaded by the click on their button. */
  isOpenAtFirst?: boolean;
  /** Below the list. */
  footer?: ReactNode;
};

const maxShown = 60;

/** A menu with a field that filters it, for long lists. */
export default function SearchMenu({
  button,
  label,
  groups,
  onSelect,
  isOpenAtFirst = false,
  footer,
}: Props) {
  const [query, setQuery] = useState("");
  const shown = useMemo(() => filterGroups(groups, query), [groups, query]);
  return (
    <Ariakit.ComboboxProvider resetValueOnHide includesBaseElement={false} setValue={setQuery}>
      <Ariakit.MenuProvider placement="bottom-start" defaultOpen={isOpenAtFirst}>
        <Ariakit.MenuButton render={button} />
        <Ariakit.Menu
          aria-label={label}
          gutter={6}
          overflowPadding={8}
          portal
          unmountOnHide
          className={clsx(
            popoverClass,
            "flex max-h-[min(32rem,var(--popover-available-height))] w-80 flex-col",
          )}
        >
          <div className="sticky top-0 flex items-center gap-2 border-b border-line px-3">
            <Search aria-hidden className="size-4 shrink-0 text-soft" />
            <Ariakit.Combobox
              autoSelect
              aria-label={label}
              placeholder={label}
              className="h-10 min-w-0 flex-1 bg-transparent text-field outline-none placeholder:text-soft"
            />
          </div>
          <Ariakit.ComboboxList className="thin-scroll min-h-0 flex-1 overflow-y-auto p-1 outline-none">
            {shown.map((group) => (
              <Ariakit.ComboboxGroup key={group.label}>
                <Ariakit.ComboboxGroupLabel className="px-2 pt-2 pb-1 text-xs font-medium text-faint">
                  {group.label}
                </Ariakit.ComboboxGroupLabel>
                {group.items.map((item) => (
                  <Ariakit.ComboboxItem
                    key={item.id}
                    id={`${group.label}-${item.id}`}
                    focusOnHover
                    setValueOnClick={false}
                    hideOnClick
                    onClick={() => onSelect(item.id)}
                    className={optionClass}
                  >
                    {item.content ?? item.text}
                  </Ariakit.ComboboxItem>
                ))}
              </Ariakit.ComboboxGroup>
            ))}
            {shown.length === 0 && <p className="px-2 py-3 text-center text-soft">{kitWords.noMatches}</p>}
          </Ariakit.ComboboxList>
          {footer && <div className="border-t border-line p-1">{footer}</div>}
        </Ariakit.Menu>
      </Ariakit.MenuProvider>
    </Ariakit.ComboboxProvider>
  );
}

/** Best matches first; an item is shown once, in its first group, while something is searched. */
function filterGroups(groups: readonly SearchGroup[], query: string): SearchGroup[] {
  if (!query.trim()) {
    return groups
      .map((group) => ({ ...group, items: group.items.slice(0, maxShown) }))
      .filter(({ items }) => items.length > 0);
  }
  const seen = new Set<string>();
  return groups
    .map((group) => {
      const matches = group.items
        .filter(({ id }) => !seen.has(id))
        .map((item) => ({ item, score: fuzzyMatch(query, `${item.text} ${item.alias ?? ""}`)?.score ?? -1 }))
        .filter(({ score }) => score >= 0)
        .toSorted((a, b) => b.score - a.score)
        .slice(0, maxShown);
      for (const { item } of matches) seen.add(item.id);
      return { ...group, items: matches.map(({ item }) => item) };
    })
    .filter(({ items }) => items.length > 0);
}
