// @vitest-environment happy-dom
import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";

import { setPreferences } from "./preferences";
import { useShortcuts } from "./shortcuts";

afterEach(() => setPreferences({ letterKeys: true }));

const runs = { palette: vi.fn(), tables: vi.fn(), sidebar: vi.fn(), run: vi.fn() };

function Page() {
  useShortcuts([
    { keys: "mod+k", run: runs.palette },
    { keys: "g t", run: runs.tables },
    { keys: "[", run: runs.sidebar },
    { keys: "mod+enter", run: runs.run },
  ]);
  return <input aria-label="text" />;
}

async function press(keys: string) {
  for (const run of Object.values(runs)) run.mockClear();
  await userEvent.keyboard(keys);
  return Object.entries(runs)
    .filter(([, run]) => run.mock.calls.length > 0)
    .map(([name]) => name);
}

test("chords, sequences and single keys work on the page", async () => {
  render(<Page />);

  expect(await press("{Control>}k{/Control}")).toEqual(["palette"]);
  expect(await press("{Meta>}{Enter}{/Meta}")).toEqual(["run"]);
  expect(await press("gt")).toEqual(["tables"]);
  expect(await press("[[")).toEqual(["sidebar"]);
  expect(await press("t")).toEqual([]);
  expect(await press("gxt")).toEqual([]);
});

test("while something is typed, only chords work", async () => {
  render(<Page />);
  await userEvent.click(screen.getByRole("textbox"));

  expect(await press("gt[[")).toEqual([]);
  expect(screen.getByRole("textbox")).toHaveValue("gt[");
  expect(await press("{Control>}k{/Control}")).toEqual(["palette"]);
});

test("single keys can be switched off", async () => {
  setPreferences({ letterKeys: false });
  render(<Page />);

  expect(await press("gt[[")).toEqual([]);
  expect(await press("{Control>}k{/Control}")).toEqual(["palette"]);
});

test("shortcuts end with their component", async () => {
  const { unmount } = render(<Page />);
  unmount();

  expect(await press("{Control>}k{/Control}")).toEqual([]);
});
