// All routes of the console (console contract §1.2). Each screen is a chunk of its own.

import { QueryClientProvider } from "@tanstack/react-query";
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  RouterProvider,
} from "@tanstack/react-router";
import { type ReactNode, useState } from "react";

import { Toaster } from "../components/toast";
import { isRange } from "./features/home/api";
import { ConsoleFailures } from "./lib/failures";
import { createQueryClient } from "./lib/query-client";
import { settings } from "./settings";
import { RequireOperator } from "./shell/guard";
import { NotFound, ProjectSkeleton } from "./shell/not-found";
import { NotLoaded } from "./shell/screen-boundary";
import { Shell } from "./shell/shell";

/** The frame, for those who may come in. */
const inFrame = (content: ReactNode) => (
  <RequireOperator>
    <Shell>{content}</Shell>
  </RequireOperator>
);

const root = createRootRoute({ component: Outlet, notFoundComponent: () => inFrame(<NotFound />) });

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  component: lazyRouteComponent(() => import("./routes/setup")),
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "operator",
  component: () => inFrame(<Outlet />),
});

const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);

/** Leaves out what is not set, so that addresses stay short. */
const compact = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;

const projects = createRoute({
  getParentRoute: () => shell,
  path: "/",
  validateSearch: (search: Record<string, unknown>) =>
    compact({
      q: text(search["q"]),
      status: text(search["status"]),
      sort: text(search["sort"]),
      desc: search["desc"] === true ? true : undefined,
      group: search["group"] === true ? true : undefined,
    }),
  component: lazyRouteComponent(() => import("./routes/projects")),
});

const newProject = createRoute({
  getParentRoute: () => shell,
  path: "/new",
  component: lazyRouteComponent(() => import("./routes/new-project")),
});

const project = createRoute({ getParentRoute: () => shell, path: "/project/$ref", component: Outlet });

const home = createRoute({
  getParentRoute: () => project,
  path: "/",
  validateSearch: (search: Record<string, unknown>) =>
    compact({ range: isRange(search["range"]) ? search["range"] : undefined }),
  component: lazyRouteComponent(() => import("./routes/home")),
});

/** Every component of the kit in both themes, in development only. */
const kit = import.meta.env.DEV
  ? [
      createRoute({
        getParentRoute: () => root,
        path: "/kit",
        component: lazyRouteComponent(() => import("./kit/kit")),
      }),
    ]
  : [];

export const createConsoleRouter = () =>
  createRouter({
    routeTree: root.addChildren([
      setup,
      ...kit,
      shell.addChildren([projects, newProject, project.addChildren([home])]),
    ]),
    basepath: settings.mount || "/",
    defaultPendingComponent: ProjectSkeleton,
    defaultPendingMs: 150,
    defaultErrorComponent: NotLoaded,
    defaultNotFoundComponent: NotFound,
    defaultPreload: "intent",
    scrollRestoration: true,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

export function App() {
  const [client] = useState(createQueryClient);
  const [router] = useState(createConsoleRouter);
  return (
    <QueryClientProvider client={client}>
      <ConsoleFailures>
        <RouterProvider router={router} />
        <Toaster place="end" />
      </ConsoleFailures>
    </QueryClientProvider>
  );
}
