import { useQuery } from "@tanstack/react-query";

import { CodeBlock } from "../../../components/code-block";
import { Bone, Loading, Region } from "../../../components/data-states";
import { Dialog } from "../../../components/dialog";
import { Tabs } from "../../../components/tabs";
import { apiKeysQuery, findKey, projectUrl } from "../../lib/keys";
import { texts } from "../../texts";
import { waysToConnect } from "./snippets";

type Props = {
  project: { ref: string; database: { host: string } | null };
  onClose: () => void;
};

/** How to connect an application to this project (N41). */
export default function ConnectDialog({ project, onClose }: Props) {
  const keys = useQuery(apiKeysQuery(project.ref));
  return (
    <Dialog title={texts.connect.title} lead={texts.connect.lead} onClose={onClose} size="lg">
      <Region
        query={keys}
        errorTitle={texts.home.keysNotLoaded}
        skeleton={
          <Loading label={texts.home.keysLoading}>
            <div className="grid gap-3">
              <Bone className="h-9" />
              <Bone className="h-40" />
            </div>
          </Loading>
        }
      >
        {(list) => {
          const ways = waysToConnect({
            url: projectUrl(project.ref),
            key: findKey(list, "publishable")?.api_key ?? "",
            ref: project.ref,
            databaseHost: project.database?.host ?? "",
          });
          return (
            <Tabs
              label={texts.connect.ways}
              tabs={ways.map(({ id, title, snippets }) => ({
                id,
                title,
                content: (
                  <div className="grid gap-3">
                    {snippets.map((snippet) => (
                      <CodeBlock
                        key={snippet.title}
                        title={snippet.title}
                        code={snippet.code}
                        label={`${title} ${snippet.title}`}
                      />
                    ))}
                    {snippets.some(({ code }) => code.includes("[YOUR-PASSWORD]")) && (
                      <p className="text-dense text-soft">{texts.connect.passwordHint}</p>
                    )}
                  </div>
                ),
              }))}
            />
          );
        }}
      </Region>
    </Dialog>
  );
}
