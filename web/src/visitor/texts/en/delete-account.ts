import type { ReactNode } from "react";

import { rich } from "../../../texts/rich";

export const deleteAccount = {
  title: "Delete your account",
  lead: "This cannot be undone.",
  whatHappens: "What happens",
  consequences: [
    "You are signed out on every device.",
    "Your profile, connected accounts and second steps are deleted.",
    "What belongs to your account in this service may be deleted with it.",
    "Nobody can restore it, also not the operator.",
  ],
  /** To type if the account has neither e-mail nor phone. */
  keyword: "delete",
  typeToConfirm: (name: ReactNode) => rich`Type ${name} to confirm`,
  notConfirmed: (name: string) => `Type ${name} to confirm.`,
  submit: "Delete my account",
  deleting: "Deleting…",
};
