// Connects the events of the platform with the query cache: what an event is about is fetched again.

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState } from "react";

import { api } from "./api";
import { followEvents, type PlatformEvent } from "./events";

/** Query keys by type of event; a prefix ends with a dot. Keys of a project carry its ref. */
const affected: [type: string, keys: (project: string) => readonly unknown[][]][] = [
  ["job.", () => [["jobs"]]],
  ["project.", (project) => [["projects"], ["project", project]]],
  [
    "schema.",
    (project) => [
      ["project", project, "schema"],
      ["project", project, "overview"],
    ],
  ],
  ["table.", (project) => [["project", project, "schema"]]],
  [
    "migration.",
    (project) => [
      ["project", project, "schema"],
      ["project", project, "overview"],
    ],
  ],
  [
    "function.",
    (project) => [
      ["project", project, "functions"],
      ["project", project, "overview"],
    ],
  ],
  ["user.", (project) => [["project", project, "users"]]],
  ["auth.", (project) => [["project", project, "config"]]],
  [
    "backup.",
    (project) => [
      ["project", project, "backups"],
      ["project", project, "overview"],
    ],
  ],
  [
    "advisor.",
    (project) => [
      ["project", project, "advisors"],
      ["project", project, "overview"],
    ],
  ],
  ["member.", () => [["me"], ["members"]]],
];

/** What an event makes stale. After a gap in the events, that is everything. */
export function staleKeys({ type, project = "" }: PlatformEvent): readonly unknown[][] | "everything" {
  if (type === "reset" || type === "poll") return "everything";
  return affected.find(([prefix]) => type.startsWith(prefix))?.[1](project) ?? [];
}

export function applyEvent(client: QueryClient, event: PlatformEvent): void {
  const keys = staleKeys(event);
  if (keys === "everything") void client.invalidateQueries();
  else for (const queryKey of keys) void client.invalidateQueries({ queryKey });
}

type Listener = (event: PlatformEvent) => void;
const listeners = new Set<Listener>();

/** Calls the listener for each event while the component is there. */
export function usePlatformEvents(listener: Listener): void {
  useEffect(() => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listener]);
}

export const LiveContext = createContext(true);

/** Whether changes arrive by themselves; if not, screens are refreshed every 30 seconds. */
export const useIsLive = () => useContext(LiveContext);

/** Follows the stream while the page is visible. Once per page. */
export function useEventStream(): boolean {
  const client = useQueryClient();
  const [isLive, setLive] = useState(true);
  useEffect(() => {
    let running: AbortController | null = null;
    const start = () => {
      if (document.hidden || running) return;
      running = new AbortController();
      void followEvents(
        {
          open: (lastEventId, signal) =>
            api.stream("/platform/events", {
              headers: { accept: "text/event-stream", ...(lastEventId && { "last-event-id": lastEventId }) },
              signal,
            }),
          onEvent: (event) => {
            applyEvent(client, event);
            for (const listener of listeners) listener(event);
          },
          onState: setLive,
        },
        running.signal,
      );
    };
    const follow = () => {
      if (!document.hidden) {
        // What happened in the meantime is unknown.
        if (!running) void client.invalidateQueries({ refetchType: "active" });
        start();
      } else {
        running?.abort();
        running = null;
      }
    };
    start();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      running?.abort();
    };
  }, [client]);
  return isLive;
}
