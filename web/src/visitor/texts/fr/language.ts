import type { Texts } from "..";

export const language: Texts["language"] = { tag: "fr", dir: "ltr" };
