// The project's URL and keys, to copy. Secret keys arrive masked and are revealed in the settings only (N2).

import { useQuery } from "@tanstack/react-query";

import { CopyLine } from "../../../components/code-block";
import { Bone, Loading, Region } from "../../../components/data-states";
import { Panel } from "../../../components/panel";
import { apiKeysQuery, findKey, projectUrl } from "../../lib/keys";
import { texts } from "../../texts";

const t = texts.home;

export function ApiCard({ projectRef }: { projectRef: string }) {
  const keys = useQuery(apiKeysQuery(projectRef));
  return (
    <Panel title={t.api}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <Line label={t.apiUrl}>
          <CopyLine text={projectUrl(projectRef)} label={t.apiUrl} />
        </Line>
        <Region
          query={keys}
          errorTitle={t.keysNotLoaded}
          errorSize="sm"
          skeleton={
            <Loading label={t.keysLoading}>
              <div className="grid gap-2">
                <Bone className="h-4 w-28" />
                <Bone className="h-8" />
                <Bone className="h-4 w-20" />
                <Bone className="h-8" />
              </div>
            </Loading>
          }
        >
          {(list) => {
            const publishable = findKey(list, "publishable");
            const secret = findKey(list, "secret");
            return (
              <>
                <Line label={t.publishableKey}>
                  {publishable ? <CopyLine text={publishable.api_key} label={t.publishableKey} /> : t.noKey}
                </Line>
                {secret && (
                  <Line label={t.secretKey}>
                    <code className="flex min-h-target items-center rounded-md border border-line bg-sunk px-2.5 font-mono text-dense text-soft">
                      <span className="truncate">{secret.api_key}</span>
                    </code>
                  </Line>
                )}
              </>
            );
          }}
        </Region>
        <p className="text-dense text-soft">{t.keysHint}</p>
      </div>
    </Panel>
  );
}

function Line({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
      <p className="text-label font-medium">{label}</p>
      {children}
    </div>
  );
}
