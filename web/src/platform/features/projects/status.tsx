import { type State, StateLabel } from "../../../components/badge";
import { texts } from "../../texts";

const states: Record<string, State> = {
  ACTIVE_HEALTHY: "good",
  ACTIVE_UNHEALTHY: "danger",
  INIT_FAILED: "danger",
  REMOVED: "danger",
  INACTIVE: "paused",
  PAUSING: "waiting",
  COMING_UP: "waiting",
  RESTORING: "waiting",
  RESTARTING: "waiting",
  GOING_DOWN: "waiting",
};

export const statusText = (status: string) => texts.projects.statuses[status] ?? status;

/** The status of a project, as sign and word. */
export function ProjectStatus({ status }: { status: string }) {
  return <StateLabel state={states[status] ?? "info"}>{statusText(status)}</StateLabel>;
}
