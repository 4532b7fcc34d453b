import type { Texts } from "..";

export const dates: Texts["dates"] = {
  justNow: "à l’instant",
};
