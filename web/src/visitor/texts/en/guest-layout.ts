/** Layout, errors and not-found page. */
export const guestLayout = {
  support: "Support",
  terms: "Terms",
  privacy: "Privacy",
  signedIn: "You're signed in.",
  wentWrong: "Something went wrong",
  notLoaded: "This page could not be loaded",
  notLoadedLead: "Check your connection, then load it again.",
  loadAgain: "Load again",
  noPage: "There is no such page",
  noPageLead: "The address may be mistyped, or the page has moved.",
  toAccount: "Go to your account",
};
