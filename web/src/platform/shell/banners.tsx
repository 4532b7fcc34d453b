// Permanent notes above the screen (N23): what one must know before anything is changed.

import { useMutation, useQueryClient } from "@tanstack/react-query";
import clsx from "clsx";
import { CirclePause, Info, type LucideIcon, RadioTower, TriangleAlert, WifiOff } from "lucide-react";
import { type ReactNode, useSyncExternalStore } from "react";

import { Button } from "../../components/button";
import { toast } from "../../components/toast";
import { toFailure } from "../../lib/failure";
import { restoreProject } from "../features/projects/api";
import { describeFailure } from "../lib/failures";
import { useIsLive } from "../lib/live";
import { texts } from "../texts";
import { useCurrentProject } from "./use-project";

export type Banner = {
  id: string;
  tone: "info" | "warn" | "danger";
  icon: LucideIcon;
  text: ReactNode;
  action?: ReactNode;
};

const tones = {
  info: "border-info/25 bg-info-surface text-info",
  warn: "border-warn/25 bg-warn-surface text-warn",
  danger: "border-danger/25 bg-danger-surface text-danger",
};

export function BannerList({ banners }: { banners: readonly Banner[] }) {
  if (banners.length === 0) return null;
  return (
    <section aria-label={texts.banners.label}>
      {banners.map(({ id, tone, icon: Icon, text, action }) => (
        <div
          key={id}
          className={clsx(
            "flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1 border-b px-4 py-1 text-dense",
            tones[tone],
          )}
        >
          <Icon aria-hidden className="size-4 shrink-0" />
          <p className="min-w-0 flex-1 basis-60">{text}</p>
          {action}
        </div>
      ))}
    </section>
  );
}

function useIsOffline(): boolean {
  return useSyncExternalStore(
    (listener) => {
      window.addEventListener("online", listener);
      window.addEventListener("offline", listener);
      return () => {
        window.removeEventListener("online", listener);
        window.removeEventListener("offline", listener);
      };
    },
    () => !navigator.onLine,
  );
}

/** The notes about the connection and the current project. */
export function Banners() {
  const { project } = useCurrentProject();
  const isLive = useIsLive();
  const isOffline = useIsOffline();
  const client = useQueryClient();
  const restore = useMutation({
    mutationFn: restoreProject,
    onSettled: () => client.invalidateQueries({ queryKey: ["projects"] }),
    onError: (error) => toast(describeFailure(toFailure(error)).text, { tone: "danger" }),
  });

  const banners: Banner[] = [];
  if (isOffline) banners.push({ id: "offline", tone: "warn", icon: WifiOff, text: texts.shell.offline });
  else if (!isLive)
    banners.push({ id: "polling", tone: "info", icon: RadioTower, text: texts.shell.polling });
  if (project?.status === "INACTIVE") {
    banners.push({
      id: "paused",
      tone: "warn",
      icon: CirclePause,
      text: texts.banners.paused,
      action: (
        <Button
          variant="secondary"
          size="sm"
          isBusy={restore.isPending}
          onClick={() => restore.mutate(project.ref)}
        >
          {texts.banners.restore}
        </Button>
      ),
    });
  }
  if (project?.status === "COMING_UP" || project?.status === "RESTORING") {
    banners.push({ id: "coming-up", tone: "info", icon: Info, text: texts.banners.comingUp });
  }
  if (project?.status === "ACTIVE_UNHEALTHY") {
    banners.push({ id: "unhealthy", tone: "danger", icon: TriangleAlert, text: texts.home.someUnhealthy(1) });
  }
  return <BannerList banners={banners} />;
}
