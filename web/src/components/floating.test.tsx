// @vitest-environment happy-dom
import { render, screen, waitFor, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { afterEach, expect, test, vi } from "vitest";

import { Failure } from "../lib/failure";
import { Button } from "./button";
import { ConfirmDialog } from "./confirm";
import { Dialog } from "./dialog";
import { TextField } from "./field";
import { Menu, MenuItem } from "./menu";
import SearchMenu from "./search-menu";
import { Sheet } from "./sheet";
import { clearToasts, toast, Toaster } from "./toast";

afterEach(clearToasts);

/** Something that is opened by a button. */
function Opened({ children }: { children: (close: () => void) => React.ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button onClick={() => setOpen(true)}>Open</Button>
      {isOpen && children(() => setOpen(false))}
    </>
  );
}

test("a menu runs the chosen item; a forbidden one says why and does nothing", async () => {
  const onEdit = vi.fn();
  const onDrop = vi.fn();
  render(
    <Menu label="Table" button={<Button>Actions</Button>}>
      <MenuItem onSelect={onEdit}>Edit</MenuItem>
      <MenuItem onSelect={onDrop} disabledReason="Readers may not.">
        Drop
      </MenuItem>
    </Menu>,
  );

  await userEvent.click(screen.getByRole("button", { name: "Actions" }));
  const drop = await screen.findByRole("menuitem", { name: /Drop/ });
  expect(drop).toHaveTextContent("Readers may not.");
  expect(drop).toHaveAttribute("aria-disabled", "true");
  await userEvent.click(drop);
  expect(onDrop).not.toHaveBeenCalled();

  await userEvent.click(screen.getByRole("menuitem", { name: "Edit" }));
  expect(onEdit).toHaveBeenCalledOnce();
  await waitFor(() => expect(screen.queryByRole("menu")).not.toBeInTheDocument());
});

test("a search menu filters its groups and shows nothing twice", async () => {
  const onSelect = vi.fn();
  const shop = { id: "a", text: "shop" };
  const groups = [
    { label: "Recent", items: [shop] },
    { label: "All", items: [shop, { id: "b", text: "warehouse", alias: "xyz" }] },
  ];
  render(<SearchMenu label="Find" button={<Button>Switch</Button>} groups={groups} onSelect={onSelect} />);

  await userEvent.click(screen.getByRole("button", { name: "Switch" }));
  expect(await screen.findAllByRole("option", { name: "shop" })).toHaveLength(2);
  await userEvent.type(screen.getByRole("combobox", { name: "Find" }), "sh");
  await waitFor(() => expect(screen.getAllByRole("option")).toHaveLength(1));
  await userEvent.clear(screen.getByRole("combobox", { name: "Find" }));
  await userEvent.type(screen.getByRole("combobox", { name: "Find" }), "xyz");
  await userEvent.click(await screen.findByRole("option", { name: "warehouse" }));

  expect(onSelect).toHaveBeenCalledWith("b");
});

test("a dialog is named, closes by Escape and gives the focus back", async () => {
  render(
    <Opened>
      {(close) => (
        <Dialog title="Rename table" lead="Views keep working." onClose={close}>
          <TextField name="name" label="New name" value="" onValue={() => {}} />
        </Dialog>
      )}
    </Opened>,
  );

  await userEvent.click(screen.getByRole("button", { name: "Open" }));
  const dialog = await screen.findByRole("dialog", { name: "Rename table" });
  expect(dialog).toHaveAccessibleDescription("Views keep working.");
  await waitFor(() => expect(screen.getByRole("textbox", { name: "New name" })).toHaveFocus());
  await userEvent.keyboard("{Escape}");

  await waitFor(() => expect(screen.queryByRole("dialog")).not.toBeInTheDocument());
  await waitFor(() => expect(screen.getByRole("button", { name: "Open" })).toHaveFocus());
});

test("a sheet closes by its button", async () => {
  const onClose = vi.fn();
  render(
    <Sheet title="Row 7" onClose={onClose}>
      content
    </Sheet>,
  );

  const sheet = await screen.findByRole("dialog", { name: "Row 7" });
  await userEvent.click(within(sheet).getByRole("button", { name: "Close panel" }));

  expect(onClose).toHaveBeenCalled();
});

test("a deletion without typing starts on Cancel", async () => {
  render(
    <ConfirmDialog title="Delete row?" action="Delete row" onConfirm={async () => {}} onClose={() => {}}>
      One row.
    </ConfirmDialog>,
  );

  await waitFor(() => expect(screen.getByRole("button", { name: "Cancel" })).toHaveFocus());
});

test("nothing is dropped before its exact name is typed, and only once", async () => {
  let finish = () => {};
  const pending = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const onConfirm = vi.fn(() => pending);
  const onClose = vi.fn();
  render(
    <ConfirmDialog title="Drop?" action="Drop table" typed="orders" onConfirm={onConfirm} onClose={onClose}>
      All rows.
    </ConfirmDialog>,
  );
  const field = await screen.findByRole("textbox", { name: "Type orders to confirm" });

  await userEvent.type(field, "order{Enter}");
  await userEvent.click(screen.getByRole("button", { name: "Drop table" }));
  expect(onConfirm).not.toHaveBeenCalled();

  await userEvent.type(field, "s{Enter}{Enter}");
  await userEvent.click(screen.getByRole("button", { name: "Drop table" }));
  expect(onConfirm).toHaveBeenCalledOnce();
  expect(onClose).not.toHaveBeenCalled();

  finish();
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
});

test("a failed deletion stays open and says why", async () => {
  const onClose = vi.fn();
  const onConfirm = () => Promise.reject(new Failure("2BP01", "view monthly depends on it"));
  render(
    <ConfirmDialog title="Drop?" action="Drop" onConfirm={onConfirm} onClose={onClose}>
      All rows.
    </ConfirmDialog>,
  );

  await userEvent.click(screen.getByRole("button", { name: "Drop" }));

  expect(await screen.findByRole("alert")).toHaveTextContent("view monthly depends on it");
  expect(onClose).not.toHaveBeenCalled();
});

test("a toast is announced and offers its action once", async () => {
  const run = vi.fn();
  render(<Toaster />);

  toast("Row deleted.", { action: { label: "Undo", run } });
  expect(await screen.findByText("Row deleted.")).toBeInTheDocument();
  expect(screen.getByRole("status")).toHaveTextContent("Row deleted.");
  await userEvent.click(screen.getByRole("button", { name: "Undo" }));

  expect(run).toHaveBeenCalledOnce();
  expect(screen.queryByText("Row deleted.")).not.toBeInTheDocument();
});

test("at most three toasts are shown, the newest last", async () => {
  render(<Toaster />);

  for (const text of ["one", "two", "three", "four", "two"]) toast(text);

  await screen.findByText("four");
  expect(screen.getByRole("status").textContent).toBe("threefourtwo");
});
