// @vitest-environment happy-dom
// The console as a whole, on the sample server: who may come in, what the screens show, and what the keyboard does.

import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { projects } from "./sample/data";
import { answer } from "./sample/handler";
import { sampleSession, sessionCookie } from "./sample/session";
import { settings } from "./settings";

const shop = projects[0]!.ref;

/** Answers of the test, before those of the sample server. */
let special: Record<string, () => Response>;
let requests: string[];

beforeEach(() => {
  special = {};
  requests = [];
  vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
    const url = new URL(input instanceof Request ? input.url : String(input), location.origin);
    const method = init?.method ?? "GET";
    requests.push(`${method} ${url.pathname}`);
    const own = special[`${method} ${url.pathname}`];
    return own ? own() : answer(new Request(url, { ...init, signal: null }));
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  document.cookie = `${settings.storageKey}=; Max-Age=0; Path=/`;
});

/** Opens the console as a person with a fresh browser. */
async function open(path: string, { isSignedIn = true } = {}) {
  vi.resetModules();
  if (isSignedIn) document.cookie = `${sessionCookie(settings.storageKey)}; Path=/`;
  window.history.replaceState(null, "", `/console${path}`);
  const { App } = await import("./app");
  render(<App />);
}

const problem = (status: number, code: string) =>
  Response.json({ code, message: `because of ${code}` }, { status, headers: { "x-request-id": "01jd" } });

test("the projects are listed with their figures, and filtered by the address", async () => {
  await open("/?q=ship&status=ACTIVE_HEALTHY");

  expect(await screen.findByRole("heading", { level: 1, name: "Projects" })).toBeInTheDocument();
  expect(await screen.findByText("No project matches")).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "Clear filters" }));

  await waitFor(() => expect(location.search).toBe(""));
  expect(screen.getByRole("searchbox", { name: "Search projects" })).toHaveValue("");
});

test("projects stay listed when their figures fail", async () => {
  special["GET /platform/projects/summary"] = () => problem(500, "internal");
  await open("/");

  expect(await screen.findByText("12 projects")).toBeInTheDocument();
  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
});

test("a list that fails says why, with the request, and is loaded again", async () => {
  special["GET /v1/projects"] = () => problem(403, "forbidden");
  await open("/");

  const alert = await screen.findByRole("alert");
  expect(alert).toHaveTextContent("The projects could not be loaded.");
  expect(alert).toHaveTextContent("because of forbidden");
  expect(alert).toHaveTextContent("01jd");
  special = {};
  await userEvent.click(within(alert).getByRole("button", { name: "Try again" }));
  expect(await screen.findByText("12 projects")).toBeInTheDocument();
});

test("without projects, the way to the first one is shown", async () => {
  special["GET /v1/projects"] = () => Response.json([]);
  await open("/");

  expect(await screen.findByText("No projects yet")).toBeInTheDocument();
  expect(screen.getAllByRole("link", { name: "New project" })[0]).toHaveAttribute("href", "/console/new");
});

test("the home shows figures, services, keys and what changed", async () => {
  await open(`/project/${shop}`);

  expect(await screen.findByRole("heading", { level: 1, name: "shop" })).toBeInTheDocument();
  expect(await screen.findByText("All services are healthy")).toBeInTheDocument();
  expect(await screen.findByText("orders_add_delivery_window", { selector: "bdi" })).toBeInTheDocument();
  expect(await screen.findByTitle(/^sb_publishable_/)).toBeInTheDocument();
  expect(screen.getByRole("table", { name: "Requests" })).toBeInTheDocument();
  expect(screen.getByRole("button", { name: /Switch branch: main/ })).toHaveTextContent("Production");
});

test("one region that fails leaves the others", async () => {
  special[`GET /v1/projects/${shop}/health`] = () => problem(403, "forbidden");
  await open(`/project/${shop}`);

  expect(await screen.findByText("The services could not be checked.")).toBeInTheDocument();
  expect(await screen.findByRole("table", { name: "Requests" })).toBeInTheDocument();
});

test("a paused project says so and is restored by a button", async () => {
  await open(`/project/${projects[4]!.ref}`);

  const note = await screen.findByRole("region", { name: "Notes about this project" });
  expect(note).toHaveTextContent("This project is paused.");
  await userEvent.click(within(note).getByRole("button", { name: "Restore project" }));

  await waitFor(() => expect(requests).toContain(`POST /v1/projects/${projects[4]!.ref}/restore`));
});

test("a new project shows what to do instead of empty charts", async () => {
  await open(`/project/${projects[8]!.ref}`);

  expect(await screen.findByRole("region", { name: "Get started" })).toHaveTextContent("0 of 5 done");
  expect(screen.queryByRole("table", { name: "Requests" })).not.toBeInTheDocument();
  expect(await screen.findByRole("region", { name: "In your application" })).toHaveTextContent(
    "createClient(",
  );
});

test("unknown projects and paths have pages of their own", async () => {
  await open("/project/nowhere");
  expect(await screen.findByRole("heading", { level: 1 })).toHaveTextContent("There is no such project");
});

test("an unknown path keeps the frame", async () => {
  await open("/nowhere/at/all");

  expect(await screen.findByRole("heading", { level: 1 })).toHaveTextContent("There is no such page");
  expect(screen.getByRole("link", { name: "Go to the projects" })).toHaveAttribute("href", "/console/");
  expect(screen.getByRole("button", { name: /^Jobs/ })).toBeInTheDocument();
});

test("without a session, the sign-in page follows, and comes back", async () => {
  const replace = vi.spyOn(location, "replace").mockImplementation(() => {});
  await open(`/project/${shop}?range=7d`, { isSignedIn: false });

  await waitFor(() =>
    expect(replace).toHaveBeenCalledWith(
      `/console/sign-in?next=${encodeURIComponent(`/console/project/${shop}?range=7d`)}`,
    ),
  );
  expect(requests.filter((request) => request.includes("/v1/"))).toEqual([]);
});

test("a session without its second factor goes on there", async () => {
  const replace = vi.spyOn(location, "replace").mockImplementation(() => {});
  const session = sampleSession();
  const [head, , sign] = session.access_token.split(".");
  session.access_token = [head, btoa(JSON.stringify({ aal: "aal1" })), sign].join(".");
  document.cookie = `${settings.storageKey}=base64-${btoa(JSON.stringify(session))}; Path=/`;
  await open("/", { isSignedIn: false });

  await waitFor(() => expect(replace).toHaveBeenCalledWith("/console/sign-in/mfa?next=%2Fconsole%2F"));
});

test("with no owner yet, every path leads to the set-up, which wants its link", async () => {
  special["GET /platform/setup"] = () =>
    Response.json({ needed: true, instance: "acme", mfa_required: true });
  await open(`/project/${shop}`, { isSignedIn: false });

  expect(await screen.findByText("This page needs its one-time link")).toBeInTheDocument();
  expect(location.pathname).toBe("/console/setup");
});

test("the set-up sends what was typed once, with the token of the link", async () => {
  const bodies: unknown[] = [];
  special["GET /platform/setup"] = () =>
    Response.json({ needed: true, instance: "acme", mfa_required: true });
  special["POST /platform/setup"] = () => problem(403, "setup_token_invalid");
  const fetch = globalThis.fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    if (init?.method === "POST") bodies.push(JSON.parse(String(init.body)));
    return fetch(input, init);
  });
  await open("/setup#token=one-time", { isSignedIn: false });

  await userEvent.type(await screen.findByRole("textbox", { name: "Your e-mail" }), "ada@example.com");
  await userEvent.type(screen.getByLabelText("Password"), "short");
  await userEvent.click(screen.getByRole("button", { name: "Create owner" }));
  expect(await screen.findByText("Use at least 12 characters.")).toBeInTheDocument();
  expect(bodies).toEqual([]);

  await userEvent.type(screen.getByLabelText("Password"), " but longer now");
  await userEvent.dblClick(screen.getByRole("button", { name: "Create owner" }));
  expect(await screen.findByRole("alert")).toHaveTextContent("This link is not valid any more.");
  expect(bodies[0]).toEqual({
    token: "one-time",
    email: "ada@example.com",
    password: "short but longer now",
    instance: "acme",
  });
});

test("somebody who is no operator is told so", async () => {
  special["GET /platform/me"] = () => problem(403, "forbidden");
  await open("/");

  expect(await screen.findByRole("heading", { level: 1 })).toHaveTextContent("You are not an operator here");
  expect(screen.getByRole("button", { name: "Sign out" })).toBeInTheDocument();
});

test("the palette finds screens, tables and commands, and announces how many", async () => {
  await open(`/project/${shop}`);
  await screen.findByRole("heading", { level: 1, name: "shop" });

  await userEvent.keyboard("{Control>}k{/Control}");
  const dialog = await screen.findByRole("dialog", { name: "Search or run a command" });
  await userEvent.type(within(dialog).getByRole("combobox"), "order_i");
  expect(await within(dialog).findByRole("option", { name: /order_items/ })).toBeInTheDocument();
  expect(within(dialog).getByRole("status")).toHaveTextContent("Found: 1 tables");

  await userEvent.clear(within(dialog).getByRole("combobox"));
  await userEvent.type(within(dialog).getByRole("combobox"), "dark theme");
  await userEvent.keyboard("{Enter}");
  await waitFor(() => expect(document.documentElement.dataset["theme"]).toBe("dark"));
  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  delete document.documentElement.dataset["theme"];
});

test("the sheet lists the shortcuts of the page", async () => {
  await open(`/project/${shop}`);
  await screen.findByRole("heading", { level: 1, name: "shop" });

  await userEvent.keyboard("?");

  const sheet = await screen.findByRole("dialog", { name: "Keyboard shortcuts" });
  expect(within(sheet).getByText("Search or run a command")).toBeInTheDocument();
  expect(within(sheet).getByRole("region", { name: "Go to" })).toHaveTextContent("SQL editor");
});

test("the tray shows running jobs and their progress", async () => {
  await open("/");

  await userEvent.click(await screen.findByRole("button", { name: "Jobs: 2 running" }));

  const tray = await screen.findByRole("dialog", { name: "Jobs" });
  expect(await within(tray).findByRole("progressbar", { name: /^Import/ })).toHaveAttribute(
    "aria-valuenow",
    "41",
  );
  expect(tray).toHaveTextContent("The archive was made by a newer Plinth (1.2.0)");
});
