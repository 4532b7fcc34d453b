import type { Texts } from "..";

export const language: Texts["language"] = { tag: "de", dir: "ltr" };
