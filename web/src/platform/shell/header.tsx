// The header: where am I, find, what is running, help, me (N22).

import { Link } from "@tanstack/react-router";
import clsx from "clsx";
import { Cable, CircleHelp, Menu as MenuIcon, Search } from "lucide-react";
import { lazy, Suspense, useState } from "react";

import { Button } from "../../components/button";
import { IconButton } from "../../components/icon-button";
import { Keys } from "../../components/keys";
import { Menu, MenuItem, MenuLabel, MenuSeparator } from "../../components/menu";
import { JobTray } from "../features/jobs/job-tray";
import { settings } from "../settings";
import { texts } from "../texts";
import { Mark } from "./mark";
import { ProfileMenu } from "./profile-menu";
import { BranchSwitcher, ProjectSwitcher } from "./switchers";
import { useCurrentProject } from "./use-project";

const ConnectDialog = lazy(() => import("../features/connect/connect-dialog"));

type Props = {
  instanceName: string;
  onSearch: () => void;
  onShowShortcuts: () => void;
  onOpenSections: () => void;
};

export function Header({ instanceName, onSearch, onShowShortcuts, onOpenSections }: Props) {
  const { ref, project } = useCurrentProject();
  const [isConnecting, setConnecting] = useState(false);
  return (
    <header className="sticky top-0 z-20 flex h-11 items-center gap-1 border-b border-line bg-page/92 px-2 backdrop-blur-sm pointer-coarse:h-13">
      <a
        href="#content"
        className="sr-only z-40 rounded-md bg-text px-3 py-1.5 text-page focus:not-sr-only focus:fixed focus:start-3 focus:top-2"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        {texts.shell.skip}
      </a>
      {ref && (
        <IconButton
          label={texts.shell.openSections}
          icon={MenuIcon}
          className="md:hidden"
          onClick={onOpenSections}
        />
      )}
      <nav aria-label={texts.shell.switchProject} className="flex min-w-0 items-center">
        <Link
          to="/"
          className={clsx(
            "flex h-8 shrink-0 items-center gap-2 rounded-md px-1.5 text-dense font-semibold hover:bg-hover",
            // The sections lead there too.
            ref && "max-sm:hidden",
          )}
          aria-label={`${instanceName}: ${texts.shell.allProjects}`}
        >
          <Mark className="size-5 shrink-0" />
          <span className={ref ? "max-lg:hidden" : ""}>{instanceName}</span>
        </Link>
        {ref && (
          <>
            <span className="max-sm:hidden">
              <Slash />
            </span>
            <ProjectSwitcher />
            <BranchSwitcher />
          </>
        )}
      </nav>
      <div className="ms-auto flex items-center gap-1">
        <button
          type="button"
          onClick={onSearch}
          aria-keyshortcuts="Control+K"
          className="flex h-8 w-56 items-center gap-2 rounded-md border border-line bg-surface px-2.5 text-dense text-soft hover:border-line-strong max-lg:hidden"
        >
          <Search aria-hidden className="size-3.5" />
          <span className="flex-1 text-start">{texts.shell.search}</span>
          <Keys keys="mod+k" />
        </button>
        <IconButton
          label={texts.shell.searchCommand}
          keys="mod+k"
          icon={Search}
          onClick={onSearch}
          className="lg:hidden"
        />
        {project && (
          <Button
            variant="secondary"
            size="sm"
            className="mx-1 max-sm:hidden"
            onClick={() => setConnecting(true)}
          >
            <Cable aria-hidden className="size-3.5" />
            {texts.shell.connect}
          </Button>
        )}
        <JobTray />
        <HelpMenu onShowShortcuts={onShowShortcuts} />
        <ProfileMenu />
      </div>
      {isConnecting && project && (
        <Suspense>
          <ConnectDialog project={project} onClose={() => setConnecting(false)} />
        </Suspense>
      )}
    </header>
  );
}

export function Slash() {
  return (
    <span aria-hidden className="px-0.5 text-line-strong/60 select-none">
      /
    </span>
  );
}

function HelpMenu({ onShowShortcuts }: { onShowShortcuts: () => void }) {
  return (
    <Menu
      label={texts.shell.help}
      placement="bottom-end"
      button={<IconButton label={texts.shell.help} icon={CircleHelp} className="max-sm:hidden" />}
    >
      <MenuItem keys="mod+/" onSelect={onShowShortcuts}>
        {texts.shell.keyboardShortcuts}
      </MenuItem>
      <MenuSeparator />
      <MenuLabel>{texts.shell.version(settings.version)}</MenuLabel>
    </Menu>
  );
}
