/** The dialog that shows how to connect (N41). */
export const connect = {
  title: "Connect to this project",
  lead: "Snippets with this project’s URL and publishable key.",
  ways: "Ways to connect",
  install: "Install",
  clientFile: "Make a client",
  environment: "Environment",
  uri: "Connection URI",
  psql: "psql",
  login: "Sign in once, then link the folder",
  passwordHint: "Replace [YOUR-PASSWORD] by the database password. It can be reset in the settings.",
};
