/** The frame around all screens. */
export const shell = {
  title: (page: string, instance: string) => `${page} · ${instance}`,
  skip: "Skip to content",
  allProjects: "All projects",
  sections: "Sections",
  openSections: "Open sections",
  collapseSidebar: "Collapse sidebar",
  expandSidebar: "Expand sidebar",

  searchCommand: "Search or run a command",
  search: "Search…",
  connect: "Connect",
  jobs: "Jobs",
  help: "Help",
  keyboardShortcuts: "Keyboard shortcuts",
  documentation: "Documentation",
  version: (version: string) => `Plinth ${version}`,

  account: "Your account",
  profile: "Profile",
  security: "Second factor and sessions",
  preferences: "Preferences",
  signOut: "Sign out",

  switchProject: "Switch project",
  findProject: "Find a project",
  pinned: "Pinned",
  recent: "Recent",
  others: "All projects",
  pin: (name: string) => `Pin ${name}`,
  unpin: (name: string) => `Unpin ${name}`,
  newProject: "New project",
  switchBranch: "Switch branch",
  production: "Production",
  branch: "Branch",
  manageBranches: "Manage branches",

  notFoundTitle: "There is no such page",
  notFoundText: "The address may be mistyped, or what it showed is gone.",
  noProjectTitle: "There is no such project",
  noProjectText: (ref: string) => `No project with the ref ${ref} exists, or you may not see it.`,
  toProjects: "Go to the projects",
  notLoadedTitle: "This screen could not be shown",
  notLoadedText: "Plinth may have been updated since the page was opened. Loading it again usually helps.",
  loadAgain: "Load again",
  loadingPage: "Loading the page",
  checkingSession: "Checking who you are",

  forbiddenTitle: "You are not an operator here",
  forbiddenText: (email: string) =>
    `${email} is signed in, but is not a member of this installation. Ask an owner for an invitation.`,

  pollingTitle: "Live updates are off",
  polling: "Changes appear every 30 seconds: the event stream cannot be reached.",
  offline: "No connection to the server. What you see may be out of date.",
};

/** Permanent notes above the screen (N23). */
export const banners = {
  label: "Notes about this project",
  paused: "This project is paused. Its API answers 503 and its data are kept.",
  restore: "Restore project",
  readOnly: "This project is read-only.",
  production: "You are working on the production branch.",
  maintenance: "Maintenance is going on; changes may be refused.",
  impersonation: (user: string) => `You see this project as ${user}.`,
  stopImpersonation: "Stop",
  certificate: (host: string) => `The TLS certificate of ${host} has expired.`,
  backups: "The last backup failed.",
  showBackups: "Show backups",
  mail: "The mail server cannot be reached; mails are waiting.",
  comingUp: "This project is being set up.",
};
