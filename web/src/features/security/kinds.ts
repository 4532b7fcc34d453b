import { KeyRound, MessageSquare, Smartphone } from "lucide-react";

import * as texts from "../../texts";

const kinds = {
  totp: { text: texts.secondStep.kinds.totp, icon: Smartphone },
  phone: { text: texts.secondStep.kinds.phone, icon: MessageSquare },
  webauthn: { text: texts.secondStep.kinds.webauthn, icon: KeyRound },
};

/** How a kind of second step is called and drawn. */
export const kindOf = (type: string) => kinds[type as keyof typeof kinds] ?? kinds.totp;
