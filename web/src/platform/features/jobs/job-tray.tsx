// Jobs that run and have run (N5): progress, cancel, result. The tray survives reloads, because the server
// knows the jobs.

import { useQuery } from "@tanstack/react-query";
import { ListChecks } from "lucide-react";
import { lazy, Suspense, useEffect, useRef, useState } from "react";

import { IconButton } from "../../../components/icon-button";
import { toast } from "../../../components/toast";
import { texts } from "../../texts";
import { isActive, type Job, jobsQuery, kindText } from "./api";

const JobSheet = lazy(() => import("./job-sheet"));

/** Jobs that ended since the last look. */
export function endedJobs(before: readonly Job[] | undefined, now: readonly Job[]): Job[] {
  const wasActive = new Set(before?.filter(isActive).map(({ id }) => id));
  return now.filter((job) => wasActive.has(job.id) && !isActive(job));
}

export function JobTray() {
  const [isOpen, setOpen] = useState(false);
  const query = useQuery({
    ...jobsQuery,
    // Progress also arrives by events; without them, this is enough.
    refetchInterval: ({ state }) => (state.data?.some(isActive) ? 3000 : false),
  });
  const active = query.data?.filter(isActive).length ?? 0;
  const before = useRef(query.data);

  useEffect(() => {
    for (const job of query.data ? endedJobs(before.current, query.data) : []) {
      if (job.state === "succeeded") toast(texts.jobs.finished(kindText(job.kind)));
      if (job.state === "failed") {
        toast(texts.jobs.failedToast(kindText(job.kind)), {
          tone: "danger",
          action: { label: texts.jobs.show, run: () => setOpen(true) },
        });
      }
    }
    before.current = query.data;
  }, [query.data]);

  return (
    <>
      <IconButton
        label={active > 0 ? `${texts.jobs.title}: ${texts.jobs.running(active)}` : texts.jobs.title}
        icon={ListChecks}
        onClick={() => setOpen(true)}
        mark={
          active > 0 && (
            <span
              aria-hidden
              className="absolute -end-0.5 -top-0.5 grid size-4 place-items-center rounded-full bg-accent text-[0.625rem] font-semibold text-on-accent"
            >
              {active}
            </span>
          )
        }
      />
      {isOpen && (
        <Suspense>
          <JobSheet onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
