import { Link } from "@tanstack/react-router";
import { MapPinOff } from "lucide-react";

import { buttonClass } from "../../components/button";
import { Bone, Empty, Loading } from "../../components/data-states";
import { texts } from "../texts";
import { Screen, useDocumentTitle } from "./screen";

const t = texts.shell;

const toProjects = (
  <Link to="/" className={buttonClass("secondary")}>
    {t.toProjects}
  </Link>
);

/** For paths that lead nowhere (N1). */
export function NotFound() {
  useDocumentTitle(t.notFoundTitle);
  return (
    <Screen title={t.notFoundTitle} width="reading">
      <Empty icon={MapPinOff} title={t.notFoundText} action={toProjects} />
    </Screen>
  );
}

export function NoProject({ projectRef }: { projectRef: string }) {
  return (
    <Screen title={t.noProjectTitle} width="reading">
      <Empty icon={MapPinOff} title={t.noProjectText(projectRef)} action={toProjects} />
    </Screen>
  );
}

/** A screen of a project before it is known. */
export function ProjectSkeleton() {
  return (
    <Loading label={texts.home.loading}>
      <div className="mx-auto grid w-full max-w-[90rem] gap-5 px-4 py-6 sm:px-6">
        <div className="grid gap-2">
          <Bone className="h-7 w-56" />
          <Bone className="h-4 w-80 max-w-full" />
        </div>
        <Bone className="h-36" />
        <Bone className="h-9" />
      </div>
    </Loading>
  );
}
