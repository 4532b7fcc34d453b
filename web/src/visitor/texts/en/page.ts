/** Texts of the `<noscript>` page; the build writes them into `index.html`. */
export const page = {
  noScriptTitle: "These pages need JavaScript",
  noScriptText:
    "Signing in and managing your account happens in your browser. " +
    "Please turn JavaScript on for this site, then load the page again.",
};
