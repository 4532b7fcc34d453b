// Sets the document title, with a prefix on errors (client contract U8).

import { useEffect } from "react";

import { texts } from "../texts";
import { serviceName } from "./service";

export function usePageTitle(title: string, hasError = false) {
  useEffect(() => {
    document.title = `${hasError ? texts.common.errorMark : ""}${title} · ${serviceName}`;
  }, [title, hasError]);
}
