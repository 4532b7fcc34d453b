import type { Texts } from "..";

export const language: Texts["language"] = { tag: "es", dir: "ltr" };
