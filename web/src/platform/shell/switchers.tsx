// Where one is: project and branch, each with a way to another (N22).

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { ChevronsUpDown, GitBranch, Pin, Plus, ShieldAlert } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";

import { Badge } from "../../components/badge";
import { Button } from "../../components/button";
import { Name } from "../../components/data-states";
import { Menu, MenuItem, MenuLabel } from "../../components/menu";
import type { SearchItem } from "../../components/search-menu";
import { type Project, projectsQuery } from "../features/projects/api";
import { ProjectStatus } from "../features/projects/status";
import { getPreferences, pushRecent, setPreferences, usePreferences } from "../lib/preferences";
import { texts } from "../texts";
import { Slash } from "./header";
import { useBranches, useCurrentProject } from "./use-project";

/** Loaded by the first click, or by the pointer that comes near. */
const loadMenu = () => import("../../components/search-menu");
const SearchMenu = lazy(loadMenu);

const itemOf = (project: Project): SearchItem => ({
  id: project.ref,
  text: project.name,
  alias: project.ref,
  content: (
    <span className="flex min-w-0 flex-1 items-center justify-between gap-3">
      <span className="truncate">
        <Name>{project.name}</Name>
      </span>
      <span className="text-xs text-soft">
        <ProjectStatus status={project.status} />
      </span>
    </span>
  ),
});

export function ProjectSwitcher() {
  const { project, parent, ref } = useCurrentProject();
  const { data: all = [] } = useQuery(projectsQuery);
  const { pinnedProjects, recentProjects } = usePreferences();
  const navigate = useNavigate();
  const [isLoaded, setLoaded] = useState(false);
  const shown = parent ?? project;

  useEffect(() => {
    if (!shown) return;
    const recent = pushRecent(getPreferences().recentProjects, shown.ref);
    if (recent.join() !== getPreferences().recentProjects.join()) setPreferences({ recentProjects: recent });
  }, [shown]);

  const main = all.filter((one) => !one.parent_project_ref);
  const pick = (refs: readonly string[]) =>
    refs.flatMap((wanted) => main.filter((one) => one.ref === wanted)).map(itemOf);
  const isPinned = shown !== undefined && pinnedProjects.includes(shown.ref);
  const button = (
    <Button
      variant="ghost"
      className="min-w-0 px-1.5! text-text!"
      aria-label={`${texts.shell.switchProject}: ${shown?.name ?? ref}`}
    >
      <span className="max-w-40 truncate sm:max-w-64">
        {shown ? <Name>{shown.name}</Name> : <span className="font-mono">{ref}</span>}
      </span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-soft" />
    </Button>
  );
  const first = (
    <Button
      aria-haspopup="menu"
      onClick={() => setLoaded(true)}
      onPointerEnter={() => void loadMenu()}
      onFocus={() => void loadMenu()}
      variant="ghost"
      className="min-w-0 px-1.5! text-text!"
      aria-label={`${texts.shell.switchProject}: ${shown?.name ?? ref}`}
    >
      <span className="max-w-40 truncate sm:max-w-64">
        {shown ? <Name>{shown.name}</Name> : <span className="font-mono">{ref}</span>}
      </span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-soft" />
    </Button>
  );
  if (!isLoaded) return first;
  return (
    <Suspense fallback={first}>
      <SearchMenu
        label={texts.shell.findProject}
        groups={[
          { label: texts.shell.pinned, items: pick(pinnedProjects) },
          {
            label: texts.shell.recent,
            items: pick(recentProjects.filter((one) => one !== shown?.ref).slice(0, 4)),
          },
          { label: texts.shell.others, items: main.map(itemOf) },
        ]}
        onSelect={(next) => void navigate({ to: "/project/$ref", params: { ref: next } })}
        footer={
          <div className="flex">
            {shown && (
              <Button
                variant="ghost"
                size="sm"
                className="flex-1 justify-start!"
                onClick={() =>
                  setPreferences({
                    pinnedProjects: isPinned
                      ? pinnedProjects.filter((one) => one !== shown.ref)
                      : [...pinnedProjects, shown.ref],
                  })
                }
              >
                <Pin aria-hidden className="size-3.5 shrink-0" />
                <span className="truncate">
                  {isPinned ? texts.shell.unpin(shown.name) : texts.shell.pin(shown.name)}
                </span>
              </Button>
            )}
            <Button variant="ghost" size="sm" onClick={() => void navigate({ to: "/new" })}>
              <Plus aria-hidden className="size-3.5" />
              {texts.shell.newProject}
            </Button>
          </div>
        }
        isOpenAtFirst
        button={button}
      />
    </Suspense>
  );
}

/** Only where there are branches; production is said in words and colour. */
export function BranchSwitcher() {
  const { project, parent } = useCurrentProject();
  const root = parent ?? project;
  const { data: branches = [] } = useBranches(root?.ref);
  const navigate = useNavigate();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (!root || !project || branches.length < 2) return null;

  const current = branches.find((branch) => branch.project_ref === project.ref);
  const isProduction = current?.is_default ?? true;
  const open = (ref: string) => {
    // The same screen of the other branch.
    void navigate({ to: path.replace(`/project/${project.ref}`, `/project/${ref}`) });
  };
  return (
    <>
      <Slash />
      <Menu
        label={texts.shell.switchBranch}
        button={
          <Button
            variant="ghost"
            className="px-1.5!"
            aria-label={`${texts.shell.switchBranch}: ${current?.name}`}
          >
            <Badge tone={isProduction ? "warn" : "info"}>
              {isProduction ? (
                <ShieldAlert aria-hidden className="size-3" />
              ) : (
                <GitBranch aria-hidden className="size-3" />
              )}
              {current?.name}
              {isProduction && <span className="max-md:sr-only">· {texts.shell.production}</span>}
            </Badge>
            <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 max-sm:hidden" />
          </Button>
        }
      >
        <MenuLabel>{texts.shell.switchBranch}</MenuLabel>
        {branches.map((branch) => (
          <MenuItem
            key={branch.id}
            icon={branch.is_default ? ShieldAlert : GitBranch}
            isChosen={branch.project_ref === project.ref}
            onSelect={() => open(branch.project_ref)}
          >
            <Name>{branch.name}</Name>
            {branch.is_default && <span className="ms-2 text-xs text-soft">{texts.shell.production}</span>}
          </MenuItem>
        ))}
      </Menu>
    </>
  );
}
