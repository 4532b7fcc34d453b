import type { Texts } from "..";

export const dates: Texts["dates"] = {
  justNow: "ahora mismo",
};
