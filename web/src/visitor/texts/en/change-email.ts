export const changeEmail = {
  title: "Change your e-mail",
  loading: "Loading your address",
  back: "Back to your profile",

  newAddress: "New address",
  current: (address: string) => `Your current address is ${address}.`,
  newEmail: "New e-mail",
  isYours: "This is your address already.",
  submit: "Change e-mail",
  mailSent: "We sent you a mail.",
  changed: "Your e-mail address is changed.",

  confirmBoth: "Confirm from both addresses",
  confirmNew: "Confirm from the new address",
  sentToBoth: (pending: string, current: string) =>
    `We sent a mail to ${pending} and to ${current}. Open the link in each of them, or type the code ` +
    `that came to ${pending}. Ignore the mail to keep your address.`,
  sentToNew: (pending: string) =>
    `We sent a mail to ${pending}. Open the link in it, or type the code that came to ${pending}. ` +
    `Ignore the mail to keep your address.`,
  halfDone: "One confirmation received. Now open the link we sent to your other address.",
  confirm: "Confirm",
};
