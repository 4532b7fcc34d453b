import type { ReactNode } from "react";

import { rich } from "../../../texts/rich";

export const signInCode = {
  title: "Sign in with a code",
  leadEmail: "We'll send a link and a code to your e-mail address.",
  leadPhone: "We'll send a code to your phone.",
  form: "Where to send the code",
  byEmail: "Use my e-mail address instead",
  byPhone: "Use my phone instead",

  checkMail: "Check your mail",
  checkPhone: "Check your phone",
  sentToEmail: (address: ReactNode, digits: number) =>
    rich`If an account exists, we sent a link and a ${digits}-digit code to ${address}.`,
  sentToPhone: (number: ReactNode) => rich`If an account exists, we sent a code to ${number}.`,
  otherAddress: "Use another address",
  otherNumber: "Use another number",
  submit: "Sign in",
};
