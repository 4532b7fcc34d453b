// The frame of all screens for operators: header, sections, banners, and what the keyboard does everywhere.

import { useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useCallback, useState } from "react";

import { useMedia } from "../../lib/use-media";
import { useMe } from "../lib/me";
import { LiveContext, useEventStream } from "../lib/live";
import { setPreferences, usePreferences } from "../lib/preferences";
import { type Shortcut, useShortcuts } from "../lib/shortcuts";
import { settings } from "../settings";
import { texts } from "../texts";
import { Banners } from "./banners";
import { Header } from "./header";
import { ScreenBoundary } from "./screen-boundary";
import { Sidebar, useSections } from "./sidebar";
import { useProjectRef } from "./use-project";

const Palette = lazy(() => import("./palette"));
const SectionSheet = lazy(() => import("./section-sheet"));
const ShortcutSheet = lazy(() => import("./shortcut-sheet"));

export function Shell({ children }: { children: ReactNode }) {
  const ref = useProjectRef();
  const { data: me } = useMe();
  const isLive = useEventStream();
  const [open, setOpen] = useState<"palette" | "shortcuts" | "sections" | null>(null);
  const { isSidebarOpen, toggleSidebar } = useSidebar();
  const close = useCallback(() => setOpen(null), []);
  const showShortcuts = useCallback(() => setOpen("shortcuts"), []);

  const t = texts.shortcuts;
  useShortcuts([
    { keys: "mod+k", label: t.palette, group: t.general, run: () => setOpen("palette") },
    { keys: "mod+/", label: t.sheet, group: t.general, run: showShortcuts },
    { keys: "?", run: showShortcuts },
    { keys: "[", label: t.sidebar, group: t.general, run: toggleSidebar },
  ]);
  useSectionShortcuts();

  return (
    <LiveContext value={isLive}>
      <div className="flex min-h-dvh flex-col">
        <Header
          instanceName={me?.instance.name ?? settings.instanceName}
          onSearch={() => setOpen("palette")}
          onShowShortcuts={showShortcuts}
          onOpenSections={() => setOpen("sections")}
        />
        <div className="flex min-w-0 flex-1">
          {ref && <Sidebar projectRef={ref} isOpen={isSidebarOpen} onToggle={toggleSidebar} />}
          <div className="flex min-w-0 flex-1 flex-col">
            <Banners />
            <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col outline-none">
              <ScreenBoundary>{children}</ScreenBoundary>
            </main>
          </div>
        </div>
      </div>
      <Suspense>
        {open === "palette" && <Palette onClose={close} onShowShortcuts={showShortcuts} />}
        {open === "shortcuts" && <ShortcutSheet onClose={close} />}
        {open === "sections" && ref && <SectionSheet projectRef={ref} onClose={close} />}
      </Suspense>
    </LiveContext>
  );
}

/** Open on wide screens, unless one has closed it; closed on others, unless one has opened it. */
function useSidebar() {
  const isWide = useMedia("(min-width: 1600px)");
  const { sidebar } = usePreferences();
  const isSidebarOpen = sidebar === "auto" ? isWide : sidebar === "open";
  const toggleSidebar = () => setPreferences({ sidebar: isSidebarOpen ? "closed" : "open" });
  return { isSidebarOpen, toggleSidebar };
}

/** `g` and a letter lead to the sections of the project (N9). */
function useSectionShortcuts() {
  const ref = useProjectRef();
  const navigate = useNavigate();
  const sections = useSections();
  const shortcuts: Shortcut[] = ref
    ? sections.flatMap((group) =>
        group.sections.flatMap(({ key, label, path }) =>
          key === undefined
            ? []
            : {
                keys: `g ${key}`,
                label,
                group: texts.shortcuts.goTo,
                run: () => void navigate({ to: `/project/${ref}${path}` }),
              },
        ),
      )
    : [];
  useShortcuts(shortcuts);
}
