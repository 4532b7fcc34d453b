export const farewell = {
  signedOut: "You're signed out",
  signedOutLead: "Your session on this device has ended.",
  signInAgain: "Sign in again",
  deleted: "Your account is deleted",
  deletedLead: (service: string) => `Thank you for having been with ${service}.`,
  nothingLeft: "Nothing of it is left on this device. You can close this page.",
};
