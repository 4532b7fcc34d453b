import type { Texts } from "..";

export const language: Texts["language"] = { tag: "pt", dir: "ltr" };
