import type { ReactNode } from "react";

import { type RenderText, rich } from "../../../texts/rich";

export const signUp = {
  title: "Create an account",
  titleUpgrade: "Keep your account",
  leadUpgrade: "Add an e-mail address, so that you can come back to what you have here.",
  closed: "Sign-ups are closed.",
  closedLead: "New accounts can't be created here at the moment.",
  haveAccount: (link: RenderText) => rich`Already have an account? ${link("Sign in")}`,

  signInInstead: "Sign in",
  resetInstead: "Reset your password",
  submit: "Create account",
  creating: "Creating your account…",
  consent: "I agree to the terms of this service",
  consentTerms: (terms: RenderText) => rich`I agree to the ${terms("terms")}`,
  consentPrivacy: (privacy: RenderText) => rich`I agree to the ${privacy("privacy policy")}`,
  consentBoth: (terms: RenderText, privacy: RenderText) =>
    rich`I agree to the ${terms("terms")} and the ${privacy("privacy policy")}`,

  checkMail: "Check your mail",
  checkMailLead: "We sent you a link. Open it to confirm your e-mail address.",
  sentTo: (address: ReactNode) =>
    rich`We sent a link and a code to ${address}. Open the link, or type the code here.`,
  wrongAddress: "Wrong address?",
  confirm: "Confirm e-mail",
  openMailApp: "Open mail app",
};
