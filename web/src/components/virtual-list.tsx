import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";

type Props<Item> = {
  label: string;
  items: readonly Item[];
  itemKey: (item: Item) => string;
  /** Height of an item in pixels before it is measured. */
  estimate: number;
  /** Items outside the window on each side. */
  overscan?: number;
  className?: string;
  /** Scrolls with the list, before the first item. */
  children: (item: Item, index: number) => ReactNode;
};

/** A long list of which only what is in view is in the document. Screen readers get position and number. */
export function VirtualList<Item>({
  label,
  items,
  itemKey,
  estimate,
  overscan = 8,
  className,
  children,
}: Props<Item>) {
  const frame = useRef<HTMLDivElement>(null);
  // oxlint-disable-next-line react/incompatible-library
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => frame.current,
    estimateSize: () => estimate,
    getItemKey: (index) => itemKey(items[index]!),
    overscan,
    initialRect: { width: 800, height: 800 },
  });
  return (
    // Scrollable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={frame} tabIndex={0} className={className} style={{ overflowY: "auto" }}>
      <ul aria-label={label} style={{ height: virtualizer.getTotalSize(), position: "relative" }}>
        {virtualizer.getVirtualItems().map((virtual) => (
          <li
            key={virtual.key}
            ref={virtualizer.measureElement}
            data-index={virtual.index}
            aria-setsize={items.length}
            aria-posinset={virtual.index + 1}
            style={{ position: "absolute", insetInline: 0, transform: `translateY(${virtual.start}px)` }}
          >
            {children(items[virtual.index]!, virtual.index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
