// What the server writes into the page of the console, as JSON into one element:
// `<script type="application/json" id="plinth-console">` (console contract B1). Checked here, once.

import * as shape from "../lib/shape";

const Settings = shape.object({
  /** Path of the console without a slash at its end: "/console", below a prefix "/base/console". */
  mount: shape.matching(/^(\/[^/?#]+)*$/),
  /** Base URL of `/platform`, `/v1` and `/pg`. */
  apiUrl: shape.string,
  /** Base URL of project zero's services. */
  projectUrl: shape.string,
  /** Project zero's publishable key. */
  key: shape.string,
  /** Name of the session's cookies. */
  storageKey: shape.matching(/./),
  /** Path of the session's cookies. */
  cookiePath: shape.matching(/^\//),
  /** Paths of this host that belong to other projects. */
  otherProjects: shape.array(shape.string),
  instanceName: shape.string,
  version: shape.string,
});

export type ConsoleSettings = shape.Infer<typeof Settings>;

/** Throws with the name of the member that is missing or wrong. */
export const parseSettings = (text: string): ConsoleSettings => Settings(JSON.parse(text), "plinth-console");

function readSettings(): ConsoleSettings {
  const text = globalThis.document?.getElementById("plinth-console")?.textContent ?? "";
  if (text.trim()) return parseSettings(text);
  // Development without a server: sample data, and tests.
  return {
    mount: "/console",
    apiUrl: "",
    projectUrl: `${globalThis.location?.origin}/p/platform`,
    key: "sb_publishable_sample",
    storageKey: "sb-platform-auth-token",
    cookiePath: "/",
    otherProjects: [],
    instanceName: "Plinth",
    version: "0.0.0",
  };
}

export const settings = readSettings();
