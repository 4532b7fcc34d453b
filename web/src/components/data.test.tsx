// @vitest-environment happy-dom
import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { expect, test, vi } from "vitest";

import { Failure } from "../lib/failure";
import { StateLabel } from "./badge";
import { Sparkline, TimeChart } from "./chart";
import { CodeBlock } from "./code-block";
import {
  Empty,
  ErrorState,
  escapeInvisible,
  Name,
  Region,
  type RegionQuery,
  StaleBadge,
} from "./data-states";
import { keyNames } from "./keys";
import { Progress } from "./progress";
import { SaveBar } from "./save-bar";
import { type Sort, Table } from "./table";
import { Tabs } from "./tabs";
import { VirtualList } from "./virtual-list";

const columns = [
  { id: "name", title: "Name", isSortable: true, cell: (row: { name: string }) => row.name },
  { id: "kind", title: "Kind", cell: () => "table" },
];

test("a header sorts, and says how", async () => {
  const onSort = vi.fn();
  const sort: Sort = { column: "name", direction: "ascending" };
  render(
    <Table
      label="Tables"
      columns={columns}
      rows={[{ name: "a" }]}
      rowKey={(row) => row.name}
      sort={sort}
      onSort={onSort}
    />,
  );

  const table = screen.getByRole("table", { name: "Tables" });
  expect(within(table).getByRole("columnheader", { name: "Name" })).toHaveAttribute("aria-sort", "ascending");
  expect(within(table).getByRole("columnheader", { name: "Kind" })).not.toHaveAttribute("aria-sort");
  await userEvent.click(within(table).getByRole("button", { name: "Name" }));

  expect(onSort).toHaveBeenCalledWith({ column: "name", direction: "descending" });
});

// The test environment has no layout.
function stubHeight() {
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(400);
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(400);
}

test("a long list holds few of its items, and each knows its place", () => {
  stubHeight();
  const items = Array.from({ length: 10_000 }, (_, index) => `row ${index}`);
  render(
    <VirtualList label="Rows" items={items} itemKey={(item) => item} estimate={28}>
      {(item) => item}
    </VirtualList>,
  );

  const shown = screen.getAllByRole("listitem");
  expect(shown.length).toBeLessThan(100);
  expect(shown[1]).toHaveTextContent("row 1");
  expect(shown[1]).toHaveAttribute("aria-posinset", "2");
  expect(shown[1]).toHaveAttribute("aria-setsize", "10000");
  vi.restoreAllMocks();
});

test("tabs are chosen by arrow keys", async () => {
  render(
    <Tabs
      label="Parts"
      tabs={[
        { id: "a", title: "Columns", content: "the columns" },
        { id: "b", title: "Indexes", content: "the indexes" },
      ]}
    />,
  );
  expect(screen.getByRole("tabpanel")).toHaveTextContent("the columns");

  await userEvent.click(screen.getByRole("tab", { name: "Columns" }));
  await userEvent.keyboard("{ArrowRight}");

  expect(screen.getByRole("tab", { name: "Indexes", selected: true })).toHaveFocus();
  await waitFor(() => expect(screen.getByRole("tabpanel")).toHaveTextContent("the indexes"));
});

const query = (changes: Partial<RegionQuery<string[]>>): RegionQuery<string[]> => ({
  data: undefined,
  error: null,
  isPending: false,
  isError: false,
  isRefetchError: false,
  dataUpdatedAt: 0,
  refetch: vi.fn(),
  ...changes,
});

function Shown({ of }: { of: RegionQuery<string[]> }) {
  return (
    <Region
      query={of}
      errorTitle="Not loaded."
      skeleton="skeleton"
      empty={{ when: (data) => data.length === 0, show: <Empty title="Nothing yet" /> }}
    >
      {(data, stale) => (
        <>
          {data.join()} {stale}
        </>
      )}
    </Region>
  );
}

test("a region is loading, empty, failed or ready", async () => {
  const { container, rerender } = render(<Shown of={query({ isPending: true })} />);
  expect(container).toHaveTextContent(/^skeleton$/);

  rerender(<Shown of={query({ data: [] })} />);
  expect(container).toHaveTextContent(/^Nothing yet$/);

  rerender(<Shown of={query({ data: ["a", "b"] })} />);
  expect(container).toHaveTextContent(/^a,b$/);

  const failed = query({ isError: true, error: new Failure("offline", "no network") });
  rerender(<Shown of={failed} />);
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(failed.refetch).toHaveBeenCalledOnce();
});

test("data stay when a refresh fails, and say how old they are", () => {
  const error = new Failure("offline", "no network");
  render(
    <Shown of={query({ data: ["a"], isError: true, isRefetchError: true, error, dataUpdatedAt: 1000 })} />,
  );

  expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  expect(screen.getByRole("status")).toHaveTextContent(/Not refreshed since/);
});

test("an error shows what failed, why, its code and the request", () => {
  const error = new Failure("server_error", "disk full", [], { retryAfter: null, requestId: "01jd2r" });
  render(<ErrorState title="The rows could not be loaded." error={error} />);

  const alert = screen.getByRole("alert");
  expect(alert).toHaveTextContent("The rows could not be loaded.");
  expect(alert).toHaveTextContent("disk full");
  expect(alert).toHaveTextContent("server_error");
  expect(within(alert).getByRole("button", { name: "Copy request id" })).toBeInTheDocument();
  expect(within(alert).queryByRole("button", { name: "Try again" })).not.toBeInTheDocument();
});

test("the time of stale data is exact in the title", () => {
  render(<StaleBadge since={Date.parse("2026-11-19T20:00:00Z")} />);

  expect(screen.getByRole("status").querySelector("time")).toHaveAttribute(
    "title",
    expect.stringContaining("2026-11-19 20:00:00 UTC"),
  );
});

test.each([
  ["orders", "orders"],
  ["a\u202egnp.exe", "a\\u202egnp.exe"],
  ["a\u0000b\u200b", "a\\u0000b\\u200b"],
  ["متجر 🗺 ẞ", "متجر 🗺 ẞ"],
])("the name %j is shown as %j", (name, shown) => {
  const { container } = render(<Name>{name}</Name>);

  expect(escapeInvisible(name)).toBe(shown);
  expect(container.querySelector("bdi")).toHaveTextContent(shown, { normalizeWhitespace: false });
});

test("a state is a word, not only a sign", () => {
  render(<StateLabel state="danger">Unhealthy</StateLabel>);

  expect(screen.getByText("Unhealthy")).toBeInTheDocument();
});

test("a chart has its numbers in a table", () => {
  const points = [
    { at: "2026-11-19T10:00:00Z", value: 3 },
    { at: "2026-11-19T11:00:00Z", value: 0 },
  ];
  render(
    <TimeChart
      kind="bars"
      label="Requests"
      timeLabel="Time"
      format={(value) => `${value} of them`}
      series={[{ name: "2xx", tone: 1, points }]}
    />,
  );

  const table = screen.getByRole("table", { name: "Requests" });
  expect(
    within(table)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["3 of them", "0 of them"]);
  expect(within(table).getByRole("columnheader", { name: "2xx" })).toBeInTheDocument();
});

test("a sparkline says in words what it shows, also without data", () => {
  const { rerender } = render(<Sparkline points={[1, 2]} label="3 requests, rising" />);
  expect(screen.getByRole("img", { name: "3 requests, rising" })).toBeInTheDocument();

  rerender(<Sparkline points={[]} label="No requests" />);
  expect(screen.getByRole("img", { name: "No requests" })).toBeInTheDocument();
});

test("progress of unknown length has no value", () => {
  const { rerender } = render(<Progress label="Import" done={1} total={4} />);
  expect(screen.getByRole("progressbar", { name: "Import" })).toHaveAttribute("aria-valuenow", "25");

  rerender(<Progress label="Import" done={1} total={0} />);
  expect(screen.getByRole("progressbar")).not.toHaveAttribute("aria-valuenow");
});

test("code is copied as it is, and that is announced", async () => {
  const user = userEvent.setup();
  render(<CodeBlock label="Query" code="select 1;" />);

  await user.click(screen.getByRole("button", { name: "Copy: Query" }));

  expect(await navigator.clipboard.readText()).toBe("select 1;");
  expect(await screen.findByText("Copied")).toBeInTheDocument();
});

test("a secret in code is copied whole and shown masked", async () => {
  const user = userEvent.setup();
  const { container } = render(<CodeBlock label="Key" code="sb_secret_···" copied="sb_secret_abc" />);

  await user.click(screen.getByRole("button", { name: "Copy: Key" }));

  expect(await navigator.clipboard.readText()).toBe("sb_secret_abc");
  expect(container).not.toHaveTextContent("sb_secret_abc");
});

test("keys are called as on the keyboard", () => {
  expect(keyNames("mod+k")).toEqual([["Ctrl", "K"]]);
  expect(keyNames("g t")).toEqual([["G"], ["T"]]);
});

function Form({ onSave }: { onSave: () => void }) {
  const [text, setText] = useState("");
  return (
    <>
      <input aria-label="text" value={text} onChange={(event) => setText(event.target.value)} />
      <SaveBar isDirty={text !== ""} isBusy={false} onSave={onSave} onDiscard={() => setText("")} />
    </>
  );
}

test("the save bar is there while there is something to save, and saves by key", async () => {
  const onSave = vi.fn();
  render(<Form onSave={onSave} />);
  expect(screen.queryByRole("region", { name: "Unsaved changes" })).not.toBeInTheDocument();
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  expect(onSave).not.toHaveBeenCalled();

  await userEvent.type(screen.getByRole("textbox"), "a");
  expect(screen.getByRole("region", { name: "Unsaved changes" })).toBeInTheDocument();
  await userEvent.keyboard("{Control>}{Enter}{/Control}");
  expect(onSave).toHaveBeenCalledOnce();

  await userEvent.click(screen.getByRole("button", { name: "Discard" }));
  expect(screen.queryByRole("region", { name: "Unsaved changes" })).not.toBeInTheDocument();
});
