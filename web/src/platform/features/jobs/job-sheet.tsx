// The list behind the tray: progress, cancel and result of each job.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ListChecks, X } from "lucide-react";

import { type State, StateLabel } from "../../../components/badge";
import { Bone, Empty, Loading, Region } from "../../../components/data-states";
import { IconButton } from "../../../components/icon-button";
import { Progress } from "../../../components/progress";
import { Sheet } from "../../../components/sheet";
import { Time } from "../../../components/time";
import { formatBytes, formatNumber } from "../../../lib/format";
import { texts } from "../../texts";
import { cancelJob, isActive, type Job, jobsQuery, kindText } from "./api";

const states: Record<Job["state"], State> = {
  queued: "waiting",
  running: "waiting",
  succeeded: "good",
  failed: "danger",
  cancelled: "paused",
};

export default function JobSheet({ onClose }: { onClose: () => void }) {
  const query = useQuery(jobsQuery);
  return (
    <Sheet title={texts.jobs.title} onClose={onClose}>
      <Region
        query={query}
        errorTitle={texts.jobs.notLoaded}
        skeleton={
          <Loading label={texts.jobs.loading}>
            <div className="grid gap-3">
              <Bone className="h-16" />
              <Bone className="h-16" />
            </div>
          </Loading>
        }
        empty={{
          when: (jobs) => jobs.length === 0,
          show: (
            <Empty icon={ListChecks} title={texts.jobs.empty}>
              {texts.jobs.emptyText}
            </Empty>
          ),
        }}
      >
        {(jobs, stale) => (
          <>
            {stale}
            <ul className="grid gap-2">
              {jobs.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </ul>
          </>
        )}
      </Region>
    </Sheet>
  );
}

function JobRow({ job }: { job: Job }) {
  const client = useQueryClient();
  const cancel = useMutation({
    mutationFn: () => cancelJob(job.id),
    onSettled: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
  const kind = kindText(job.kind);
  const { done, total, unit } = job.progress;
  const format = unit === "bytes" ? formatBytes : formatNumber;
  const progress =
    total > 0
      ? texts.jobs.progress(format(done), format(total), unit === "bytes" ? "" : unit)
      : texts.jobs.progressOpen(format(done), unit);
  return (
    <li className="grid gap-2 rounded-lg border border-line bg-surface p-3 text-dense">
      <div className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-medium">{kind}</span>
        <StateLabel state={states[job.state]}>{texts.jobs.states[job.state]}</StateLabel>
        {isActive(job) && (
          <IconButton
            label={texts.jobs.cancelJob(kind)}
            icon={X}
            size="sm"
            isBusy={cancel.isPending}
            onClick={() => cancel.mutate()}
          />
        )}
      </div>
      {isActive(job) && <Progress label={`${kind}: ${progress}`} done={done} total={total} />}
      <p className="flex flex-wrap justify-between gap-x-3 text-soft">
        <span className="tabular-nums">
          {isActive(job) ? job.message || progress : (job.error ?? job.message)}
        </span>
        <Time at={job.finished_at ?? job.created_at} />
      </p>
    </li>
  );
}
