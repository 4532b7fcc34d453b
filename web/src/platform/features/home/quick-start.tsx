import { CodeBlock } from "../../../components/code-block";
import { Panel } from "../../../components/panel";
import { texts } from "../../texts";

type Props = { snippets: readonly { title: string; code: string }[] };

/** The first lines of an application, for projects that nobody uses yet. */
export function QuickStart({ snippets }: Props) {
  return (
    <Panel title={texts.home.quickStart}>
      <div className="grid gap-3">
        {snippets.map(({ title, code }) => (
          <CodeBlock key={title} title={title} code={code} label={title} />
        ))}
      </div>
    </Panel>
  );
}
