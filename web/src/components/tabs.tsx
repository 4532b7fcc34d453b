import * as Ariakit from "@ariakit/react/tab";
import type { ReactNode } from "react";

export type TabItem = { id: string; title: string; aside?: ReactNode; content: ReactNode };

type Props = {
  /** What the tabs choose, for screen readers. */
  label: string;
  tabs: readonly TabItem[];
  selected?: string;
  onSelect?: (id: string) => void;
};

/** Tabs with their panels. Arrow keys move between them. */
export function Tabs({ label, tabs, selected, onSelect }: Props) {
  return (
    <div>
      <Ariakit.TabProvider
        {...(selected === undefined ? { defaultSelectedId: tabs[0]?.id ?? null } : { selectedId: selected })}
        setSelectedId={(id) => id && onSelect?.(id)}
      >
        <Ariakit.TabList
          aria-label={label}
          className="thin-scroll flex gap-1 overflow-x-auto border-b border-line px-1"
        >
          {tabs.map((tab) => (
            <Ariakit.Tab
              key={tab.id}
              id={tab.id}
              className="relative flex min-h-9 shrink-0 items-center gap-1.5 rounded-t-md px-2.5 text-dense text-soft outline-none after:absolute after:inset-x-2 after:-bottom-px after:h-0.5 after:rounded-full hover:text-text focus-visible:outline-2 focus-visible:-outline-offset-2 aria-selected:font-medium aria-selected:text-text aria-selected:after:bg-accent"
            >
              {tab.title}
              {tab.aside}
            </Ariakit.Tab>
          ))}
        </Ariakit.TabList>
        {tabs.map((tab) => (
          <Ariakit.TabPanel key={tab.id} tabId={tab.id} unmountOnHide className="pt-4 outline-none">
            {tab.content}
          </Ariakit.TabPanel>
        ))}
      </Ariakit.TabProvider>
    </div>
  );
}
