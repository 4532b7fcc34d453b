import type { Texts } from "..";

export const dates: Texts["dates"] = {
  justNow: "agora mesmo",
};
