// The title of the page names its state (client contract U8).

import { useEffect } from "react";

import { settings } from "./settings";

export function usePageTitle(title: string, hasError = false) {
  // The document is outside React.
  useEffect(() => {
    document.title = `${hasError ? "Error: " : ""}${title} · ${settings.title}`;
  }, [title, hasError]);
}
