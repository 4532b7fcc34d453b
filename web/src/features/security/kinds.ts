import { KeyRound, MessageSquare, Smartphone } from "lucide-react";

const kinds = {
  totp: { text: "Authenticator app", icon: Smartphone },
  phone: { text: "Text message", icon: MessageSquare },
  webauthn: { text: "Security key", icon: KeyRound },
};

/** How a kind of second step is called and drawn. */
export const kindOf = (type: string) => kinds[type as keyof typeof kinds] ?? kinds.totp;
