// The sections of the project: a rail of icons with names on hover, open on wide screens or if one likes it so.

import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { PanelLeftClose, PanelLeftOpen } from "lucide-react";

import { IconButton } from "../../components/icon-button";
import { Tooltip } from "../../components/tooltip";
import { hasCapability, useMe } from "../lib/me";
import { texts } from "../texts";
import { isReady, type Section, sectionGroups } from "./sections";
import { useCurrentProject } from "./use-project";

/** The sections that the operator may see. */
export function useSections() {
  const { data: me } = useMe();
  const { project } = useCurrentProject();
  const isVisible = (section: Section) =>
    isReady(section) &&
    (!me || section.capability === "signed_in" || hasCapability(me, section.capability, project));
  return sectionGroups
    .map((group) => ({ ...group, sections: group.sections.filter(isVisible) }))
    .filter(({ sections }) => sections.length > 0);
}

type Props = { projectRef: string; isOpen: boolean; onToggle: () => void };

export function Sidebar({ projectRef, isOpen, onToggle }: Props) {
  return (
    <div
      className={clsx(
        "sticky top-11 flex h-[calc(100dvh-2.75rem)] shrink-0 flex-col border-e border-line max-md:hidden pointer-coarse:top-13 pointer-coarse:h-[calc(100dvh-3.25rem)]",
        isOpen ? "w-52" : "w-12",
      )}
    >
      <Sections projectRef={projectRef} isOpen={isOpen} />
      <div className="border-t border-line-soft p-1.5">
        <IconButton
          label={isOpen ? texts.shell.collapseSidebar : texts.shell.expandSidebar}
          keys="["
          icon={isOpen ? PanelLeftClose : PanelLeftOpen}
          onClick={onToggle}
          className="w-9!"
        />
      </div>
    </div>
  );
}

type SectionsProps = { projectRef: string; isOpen: boolean; onFollow?: () => void };

export function Sections({ projectRef, isOpen, onFollow }: SectionsProps) {
  const groups = useSections();
  return (
    <nav
      aria-label={texts.shell.sections}
      className="thin-scroll min-h-0 flex-1 overflow-x-hidden overflow-y-auto p-1.5"
    >
      {groups.map((group, index) => (
        <div
          key={group.label}
          role="group"
          aria-label={group.label}
          className={clsx("grid gap-0.5", index > 0 && "mt-2 border-t border-line-soft pt-2")}
        >
          {group.sections.map((section) => (
            <SectionLink
              key={section.id}
              section={section}
              projectRef={projectRef}
              isOpen={isOpen}
              onFollow={onFollow}
            />
          ))}
        </div>
      ))}
    </nav>
  );
}

type LinkProps = {
  section: Section;
  projectRef: string;
  isOpen: boolean;
  onFollow?: (() => void) | undefined;
};

function SectionLink({ section, projectRef, isOpen, onFollow }: LinkProps) {
  const { icon: Icon, label } = section;
  const link = (
    <Link
      to={`/project/${projectRef}${section.path}` as "/"}
      activeOptions={{ exact: section.path === "" }}
      aria-label={isOpen ? undefined : label}
      onClick={onFollow}
      className={clsx(
        "relative flex h-8 items-center gap-2.5 rounded-md px-2.5 text-dense text-soft hover:bg-hover hover:text-text pointer-coarse:h-11",
        "aria-[current=page]:bg-accent-surface aria-[current=page]:font-medium aria-[current=page]:text-accent-text",
        !isOpen && "w-9",
      )}
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      {isOpen && <span className="truncate">{label}</span>}
    </Link>
  );
  if (isOpen) return link;
  return (
    <Tooltip text={label} keys={section.key ? `g ${section.key}` : undefined} placement="right">
      {link}
    </Tooltip>
  );
}
