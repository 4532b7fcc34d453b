// The title of the page names its state (client contract U8).

import { useEffect } from "react";

import * as texts from "../texts";
import { settings } from "./settings";

export function usePageTitle(title: string, hasError = false) {
  // The document is outside React.
  useEffect(() => {
    document.title = `${hasError ? texts.common.errorMark : ""}${title} · ${settings.title}`;
  }, [title, hasError]);
}
