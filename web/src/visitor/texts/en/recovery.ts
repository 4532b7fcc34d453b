import type { ReactNode } from "react";

import { rich } from "../../../texts/rich";

export const recovery = {
  forgot: "Forgot your password?",
  forgotLead: "Tell us your e-mail address, and we'll send you a link to choose a new one.",
  form: "Reset your password",
  send: "Send reset link",

  checkMail: "Check your mail",
  checkMailLead: "If an account exists, we sent a link.",
  sentTo: (address: ReactNode) =>
    rich`If an account exists for ${address}, we sent a link and a code to reset its password.`,
  otherAddress: "Use another address",

  needsLink: "This page needs a reset link.",
  needsLinkLead: "Ask for one, and open it from your mail.",
  changeInstead: "Change your password instead",
  askForLink: "Reset your password",
  oneMoreStep: "One more step",
  oneMoreStepLead: "Confirm that it's you before you choose a new password.",

  choose: "Choose a password",
  chooseLead: (address: string) => `For ${address}. Your other devices will be signed out.`,
  keepCurrent: "Keep current password",
  save: "Save password",
};
