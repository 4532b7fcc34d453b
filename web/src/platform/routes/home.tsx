// The home of a project (N40): figures, services, what changed, and the way in for a new one. Each region has
// its own states, so one that fails leaves the others.

import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";

import { Name } from "../../components/data-states";
import { Segments } from "../../components/segments";
import { waysToConnect } from "../features/connect/snippets";
import { ApiCard } from "../features/home/api-card";
import { overviewQuery, type Range, ranges } from "../features/home/api";
import { Changes, Facts, RecentErrors, SlowQueries } from "../features/home/cards";
import { Checklist, isNew } from "../features/home/checklist";
import { Figures } from "../features/home/figures";
import { QuickStart } from "../features/home/quick-start";
import { Services } from "../features/home/services";
import { ProjectStatus } from "../features/projects/status";
import { apiKeysQuery, findKey, projectUrl } from "../lib/keys";
import { NoProject, ProjectSkeleton } from "../shell/not-found";
import { Screen } from "../shell/screen";
import { useCurrentProject } from "../shell/use-project";
import { texts } from "../texts";

const t = texts.home;

export type HomeSearch = { range?: Range };

export default function Home() {
  const { ref = "", project, isPending } = useCurrentProject();
  const { range = "24h" }: HomeSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const overview = useQuery({ ...overviewQuery(ref, range), enabled: project !== undefined });

  const keys = useQuery({ ...apiKeysQuery(ref), enabled: project !== undefined });

  if (isPending) return <ProjectSkeleton />;
  if (!project) return <NoProject projectRef={ref} />;
  const key = keys.data && findKey(keys.data, "publishable")?.api_key;
  const snippets =
    key &&
    waysToConnect({ url: projectUrl(ref), key, ref, databaseHost: project.database?.host ?? "" })[0]
      ?.snippets;
  const isEmpty = overview.data !== undefined && isNew(overview.data);
  return (
    <Screen
      title={project.name}
      heading={<Name>{project.name}</Name>}
      lead={
        <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <ProjectStatus status={project.status} />
          <span className="font-mono text-xs">{project.ref}</span>
          {project.region && <span>{project.region}</span>}
          {project.database && <span>PostgreSQL {project.database.version}</span>}
        </span>
      }
      actions={
        <Segments
          label={t.range}
          value={range}
          options={ranges.map((value) => ({ value, label: t.rangesShort[value], title: t.ranges[value] }))}
          onValue={(next) =>
            void navigate({ to: ".", search: next === "24h" ? {} : { range: next }, replace: true })
          }
        />
      }
    >
      {overview.data && isEmpty && <Checklist overview={overview.data} projectRef={ref} />}
      {!isEmpty && <Figures query={overview} />}
      <Services projectRef={ref} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
          {overview.data && !isEmpty && <Checklist overview={overview.data} projectRef={ref} isCompact />}
          {isEmpty && snippets && <QuickStart snippets={snippets} />}
          {!isEmpty && <Changes query={overview} />}
          <RecentErrors query={overview} projectRef={ref} />
          <SlowQueries query={overview} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
          <ApiCard projectRef={ref} />
          <Facts query={overview} />
        </div>
      </div>
    </Screen>
  );
}
