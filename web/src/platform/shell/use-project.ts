// The project that the address names.

import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";

import { branchesQuery, projectsQuery } from "../features/projects/api";

export function useProjectRef(): string | undefined {
  return useParams({ strict: false }).ref;
}

/** The project, and the one that it is a branch of. */
export function useCurrentProject() {
  const ref = useProjectRef();
  const projects = useQuery(projectsQuery);
  const project = projects.data?.find((one) => one.ref === ref);
  const parentRef = project?.parent_project_ref ?? undefined;
  const parent = parentRef ? projects.data?.find((one) => one.ref === parentRef) : undefined;
  return { ref, project, parent, isPending: projects.isPending, error: projects.error };
}

export function useBranches(ref: string | undefined) {
  return useQuery({ ...branchesQuery(ref ?? ""), enabled: ref !== undefined });
}
