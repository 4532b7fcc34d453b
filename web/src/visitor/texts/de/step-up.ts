import type { Texts } from "..";

export const stepUp: Texts["stepUp"] = {
  title: "Bestätigen Sie, dass Sie es sind",
  isSending: (address) =>
    `Wir senden einen Code an ${address}. Geben Sie ihn hier ein, um zu bestätigen, dass Sie es sind.`,
  sentTo: (address) =>
    `Wir haben einen Code an ${address} geschickt. Geben Sie ihn hier ein, um zu bestätigen, dass Sie es sind.`,
  confirm: "Bestätigen",
};
