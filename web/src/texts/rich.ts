// Sentences with links or emphasis. A sentence stays in one piece in the catalogue, so that translations can
// reorder its parts; the page decides how they are rendered.

import { createElement, Fragment, type ReactNode } from "react";

/** Renders a part of a sentence, for example as a link. */
export type RenderText = (text: string) => ReactNode;

/** Template tag for sentences that contain React nodes. */
export function rich(strings: TemplateStringsArray, ...nodes: ReactNode[]): ReactNode {
  const parts = strings.flatMap((text, index) => [text, nodes[index]]);
  return createElement(Fragment, null, ...parts);
}
