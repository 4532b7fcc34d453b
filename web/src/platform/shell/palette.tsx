// The command palette (N24): screens, projects, what is in the project, and actions. Sections and projects are
// known here; objects of the project are searched by the server, which leaves out what the role may not read.

import * as Ariakit from "@ariakit/react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import {
  Box,
  Columns3,
  CornerDownLeft,
  Database,
  Folder,
  type LucideIcon,
  SquareFunction,
  SquareTerminal,
  Table2,
  User,
  Zap,
} from "lucide-react";
import { Fragment, useDeferredValue, useMemo, useState } from "react";

import { Keys } from "../../components/keys";
import { optionClass } from "../../components/menu";
import { fuzzyMatch } from "../../lib/fuzzy";
import { projectsQuery } from "../features/projects/api";
import { getPreferences, pushRecent, setPreferences } from "../lib/preferences";
import { searchQuery } from "../lib/search";
import { settings } from "../settings";
import { texts } from "../texts";
import { signOut } from "./profile-menu";
import { useSections } from "./sidebar";
import { useProjectRef } from "./use-project";

export type Command = {
  id: string;
  group: string;
  text: string;
  detail?: string | undefined;
  icon: LucideIcon;
  /** Where it leads, below the mount; can also be opened in another tab. */
  to?: string;
  run?: () => void;
};

const t = texts.palette;

const kinds: Record<string, { group: string; icon: LucideIcon; path: string }> = {
  table: { group: t.tables, icon: Table2, path: "/editor/" },
  column: { group: t.columns, icon: Columns3, path: "/editor/" },
  function: { group: t.functions, icon: SquareFunction, path: "/functions/" },
  snippet: { group: t.snippets, icon: SquareTerminal, path: "/sql/" },
  bucket: { group: t.buckets, icon: Folder, path: "/storage/" },
  user: { group: t.users, icon: User, path: "/auth/users/" },
  setting: { group: t.settings, icon: Box, path: "/settings/" },
};

const maxPerGroup = 7;

/** Commands by group, the best match first. Without a query: recent ones, then everything there is. */
export function arrange(commands: readonly Command[], query: string, recent: readonly string[]) {
  const scored = commands
    .map((command) => ({ command, score: query ? (fuzzyMatch(query, command.text)?.score ?? -1) : 0 }))
    .filter(({ score }) => score >= 0);
  const groups = new Map<string, { best: number; commands: { command: Command; score: number }[] }>();
  if (!query) {
    const found = recent.flatMap((id) => scored.filter(({ command }) => command.id === id)).slice(0, 5);
    if (found.length > 0) groups.set(t.recent, { best: Infinity, commands: found });
  }
  for (const entry of scored) {
    if (!query && recent.slice(0, 5).includes(entry.command.id)) continue;
    const group = groups.get(entry.command.group) ?? { best: -1, commands: [] };
    group.commands.push(entry);
    group.best = Math.max(group.best, entry.score);
    groups.set(entry.command.group, group);
  }
  return [...groups]
    .toSorted(([, a], [, b]) => b.best - a.best)
    .map(([label, group]) => ({
      label,
      commands: group.commands
        .toSorted((a, b) => b.score - a.score)
        .slice(0, query ? maxPerGroup : 40)
        .map(({ command }) => command),
    }));
}

type Props = { onClose: () => void; onShowShortcuts: () => void };

export default function Palette({ onClose, onShowShortcuts }: Props) {
  const [query, setQuery] = useState("");
  const deferred = useDeferredValue(query.trim());
  const navigate = useNavigate();
  const commands = useCommands(deferred, onShowShortcuts);
  const groups = useMemo(
    () => arrange(commands.list, deferred, getPreferences().recentCommands),
    [commands.list, deferred],
  );

  const choose = (command: Command, isNewTab: boolean) => {
    setPreferences({ recentCommands: pushRecent(getPreferences().recentCommands, command.id) });
    if (isNewTab && command.to !== undefined) {
      window.open(settings.mount + command.to, "_blank", "noopener");
      return;
    }
    onClose();
    if (command.to !== undefined) void navigate({ to: command.to });
    command.run?.();
  };

  const dialog = Ariakit.useDialogStore({ open: true, setOpen: (isOpen) => !isOpen && onClose() });
  const summary = groups.map((group) => t.count(group.commands.length, group.label)).join(", ");
  return (
    <Ariakit.Dialog
      store={dialog}
      portal
      aria-label={t.label}
      backdrop={<div className="backdrop" />}
      className="floating fixed inset-x-3 top-[min(14vh,8rem)] z-40 mx-auto flex max-h-[min(32rem,76dvh)] max-w-2xl flex-col overflow-hidden rounded-lg bg-raised text-text shadow-float outline-none"
    >
      <Ariakit.ComboboxProvider open value={query} setValue={setQuery} includesBaseElement={false} focusLoop>
        <Ariakit.Combobox
          autoSelect="always"
          aria-label={t.label}
          placeholder={t.placeholder}
          className="h-12 shrink-0 border-b border-line bg-transparent px-4 text-[0.9375rem] outline-none placeholder:text-soft"
        />
        <Ariakit.ComboboxList
          alwaysVisible
          aria-label={t.label}
          className="thin-scroll min-h-0 flex-1 scroll-py-2 overflow-y-auto p-1.5"
        >
          {groups.map((group) => (
            <Ariakit.ComboboxGroup key={group.label}>
              <Ariakit.ComboboxGroupLabel className="px-2.5 pt-2 pb-1 text-xs font-medium text-faint">
                {group.label}
              </Ariakit.ComboboxGroupLabel>
              {group.commands.map((command) => (
                <Ariakit.ComboboxItem
                  key={command.id}
                  value={command.id}
                  focusOnHover
                  setValueOnClick={false}
                  hideOnClick={false}
                  onClick={(event) => choose(command, event.ctrlKey || event.metaKey)}
                  className={`${optionClass} group min-h-9! px-2.5! text-dense`}
                >
                  <command.icon aria-hidden className="size-4 shrink-0 text-soft" />
                  <span className="min-w-0 flex-1 truncate">
                    <Marked text={command.text} query={deferred} />
                  </span>
                  {command.detail && (
                    <span className="max-w-48 shrink-0 truncate text-xs text-soft">{command.detail}</span>
                  )}
                  <CornerDownLeft
                    aria-hidden
                    className="size-3.5 shrink-0 text-soft opacity-0 group-data-active-item:opacity-100"
                  />
                </Ariakit.ComboboxItem>
              ))}
            </Ariakit.ComboboxGroup>
          ))}
          {groups.length === 0 && (
            <p className="px-4 py-10 text-center text-dense text-soft">
              {commands.isSearching ? t.searching : t.nothing(query)}
            </p>
          )}
        </Ariakit.ComboboxList>
      </Ariakit.ComboboxProvider>
      <div className="flex min-h-9 items-center gap-4 border-t border-line px-4 text-xs text-soft">
        {commands.hasFailed ? (
          <span className="text-warn">{t.searchFailed}</span>
        ) : (
          <>
            <Hint keys="enter" text={t.toOpen} />
            <Hint keys="mod+enter" text={t.toOpenTab} />
            <Hint keys="↑ ↓" text={t.toMove} />
          </>
        )}
        <span role="status" className="sr-only">
          {groups.length > 0 ? t.counts(summary) : t.nothing(query)}
        </span>
      </div>
    </Ariakit.Dialog>
  );
}

function Hint({ keys, text }: { keys: string; text: string }) {
  return (
    <span className="inline-flex items-center gap-1.5 max-sm:hidden">
      <Keys keys={keys} /> {text}
    </span>
  );
}

/** The letters that matched, in bold. */
function Marked({ text, query }: { text: string; query: string }) {
  const positions = new Set(query ? fuzzyMatch(query, text)?.positions : []);
  if (positions.size === 0) return text;
  // By UTF-16 units, like the match.
  return text
    .split("")
    .map((char, index) => (
      <Fragment key={index}>
        {positions.has(index) ? <b className="font-semibold text-accent-text">{char}</b> : char}
      </Fragment>
    ));
}

function useCommands(query: string, onShowShortcuts: () => void) {
  const ref = useProjectRef();
  const { data: projects = [] } = useQuery(projectsQuery);
  const sections = useSections();
  const search = useQuery({ ...searchQuery(ref ?? "", query), enabled: !!ref && query.length > 1 });

  const list = useMemo(() => {
    const screens: Command[] = ref
      ? sections.flatMap((group) =>
          group.sections.map((section) => ({
            id: `section:${section.id}`,
            group: t.screens,
            text: section.label,
            icon: section.icon,
            to: `/project/${ref}${section.path}`,
          })),
        )
      : [];
    const objects: Command[] = (search.data?.results ?? []).flatMap((found) => {
      const kind = kinds[found.kind];
      if (!kind || !ref) return [];
      return {
        id: `${found.kind}:${ref}:${found.id}`,
        group: kind.group,
        text: found.schema && found.schema !== "public" ? `${found.schema}.${found.name}` : found.name,
        detail: found.detail ?? undefined,
        icon: kind.icon,
        to: `/project/${ref}${kind.path}${encodeURIComponent(found.id)}`,
      };
    });
    const open: Command[] = projects.map((project) => ({
      id: `project:${project.ref}`,
      group: t.projects,
      text: project.name,
      detail: project.ref,
      icon: Database,
      to: `/project/${project.ref}`,
    }));
    const action = (id: string, text: string, rest: Pick<Command, "run" | "to">): Command => ({
      id: `action:${id}`,
      group: t.actions,
      text,
      icon: Zap,
      ...rest,
    });
    return [
      ...screens,
      ...objects,
      action("new-project", t.newProject, { to: "/new" }),
      action("light", t.lightTheme, { run: () => setPreferences({ theme: "light" }) }),
      action("dark", t.darkTheme, { run: () => setPreferences({ theme: "dark" }) }),
      action("system", t.systemTheme, { run: () => setPreferences({ theme: "system" }) }),
      action("compact", t.compact, { run: () => setPreferences({ density: "compact" }) }),
      action("comfortable", t.comfortable, { run: () => setPreferences({ density: "comfortable" }) }),
      action("shortcuts", t.showShortcuts, { run: onShowShortcuts }),
      action("sign-out", t.signOut, { run: () => void signOut() }),
      ...open,
    ];
  }, [ref, projects, sections, search.data, onShowShortcuts]);
  return { list, isSearching: search.isFetching, hasFailed: search.isError };
}
