import { KeyRound, MessageSquare, Smartphone } from "lucide-react";

import { texts } from "../../texts";

const factorTypes = {
  totp: { text: texts.secondStep.kinds.totp, icon: Smartphone },
  phone: { text: texts.secondStep.kinds.phone, icon: MessageSquare },
  webauthn: { text: texts.secondStep.kinds.webauthn, icon: KeyRound },
};

/** Label and icon of an MFA factor type. */
export const factorType = (type: string) => factorTypes[type as keyof typeof factorTypes] ?? factorTypes.totp;
