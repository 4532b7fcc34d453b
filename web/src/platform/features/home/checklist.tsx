// The way in for a new project (N40). It disappears when everything is done.

import { Link } from "@tanstack/react-router";
import { Archive, Cable, Check, type LucideIcon, ShieldCheck, Table2, UserPlus } from "lucide-react";

import { Panel } from "../../../components/panel";
import { Progress } from "../../../components/progress";
import { texts } from "../../texts";
import type { Overview } from "./api";

const t = texts.home;

type StepId = keyof typeof t.steps;

const steps: { id: StepId; icon: LucideIcon; path: string }[] = [
  { id: "table", icon: Table2, path: "/editor" },
  { id: "policy", icon: ShieldCheck, path: "/policies" },
  { id: "user", icon: UserPlus, path: "/auth/users" },
  { id: "connect", icon: Cable, path: "/api" },
  { id: "backup", icon: Archive, path: "/backups" },
];

/** Neither tables nor requests: charts would be empty. */
export const isNew = ({ tables, series }: Overview) =>
  tables === 0 && series.every((bucket) => bucket.ok + bucket.client_errors + bucket.server_errors === 0);

type Props = {
  overview: Overview;
  projectRef: string;
  /** One line per step, beside other cards. */ isCompact?: boolean;
};

export function Checklist({ overview: { checklist }, projectRef, isCompact = false }: Props) {
  const done = steps.filter(({ id }) => checklist[id]).length;
  // A server that says nothing about the steps has nothing to show.
  if (Object.keys(checklist).length === 0 || done === steps.length) return null;
  // Beside other cards only what is left.
  const shown = isCompact ? steps.filter(({ id }) => !checklist[id]) : steps;
  const summary = t.checklistDone(done, steps.length);
  return (
    <Panel
      title={isCompact ? t.nextSteps : t.checklistTitle}
      isFlush
      aside={
        <>
          <span>{summary}</span>
          <span className="w-20">
            <Progress label={summary} done={done} total={steps.length} />
          </span>
        </>
      }
    >
      <ul
        className={
          isCompact
            ? "divide-y divide-line-soft"
            : "grid gap-px overflow-hidden rounded-b-lg bg-line-soft sm:grid-cols-2 xl:grid-cols-5"
        }
      >
        {shown.map(({ id, icon: Icon, path }) => (
          <li key={id} className="relative bg-surface hover:bg-hover">
            <div className={isCompact ? "flex items-center gap-3 px-4 py-2" : "grid gap-1.5 p-4"}>
              <span
                aria-hidden
                className={
                  checklist[id]
                    ? "grid size-6 shrink-0 place-items-center rounded-full bg-good-surface text-good"
                    : "grid size-6 shrink-0 place-items-center rounded-full bg-sunk text-soft"
                }
              >
                {checklist[id] ? <Check className="size-3.5" /> : <Icon className="size-3.5" />}
              </span>
              <span className="min-w-0">
                <Link
                  to={`/project/${projectRef}${path}` as "/"}
                  className={`text-dense font-medium after:absolute after:inset-0 ${checklist[id] ? "text-soft line-through decoration-line-strong" : ""}`}
                >
                  {t.steps[id].title}
                  {checklist[id] && <span className="sr-only"> ({t.done})</span>}
                </Link>
                <span
                  className={
                    isCompact ? "ms-3 text-dense text-soft max-sm:hidden" : "block text-dense text-soft"
                  }
                >
                  {t.steps[id].text}
                </span>
              </span>
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
