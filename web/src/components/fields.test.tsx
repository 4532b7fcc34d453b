// @vitest-environment happy-dom
import { render, screen, within } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { useState } from "react";
import { expect, test, vi } from "vitest";

import { ComboboxField } from "./combobox";
import { Checkbox, SecretField, TextField } from "./field";
import { NumberField } from "./number-field";
import { SearchField } from "./search-field";
import { SelectField } from "./select";
import { Switch } from "./switch";
import { TextAreaField } from "./text-area";

const types = [
  { value: "int8", label: "bigint" },
  { value: "text", label: "text" },
  { value: "uuid", label: "uuid" },
];

/** A field with a state of its own. */
function Held({
  start,
  children,
}: {
  start: string;
  children: (value: string, set: (value: string) => void) => React.ReactNode;
}) {
  const [value, setValue] = useState(start);
  return (
    <>
      {children(value, setValue)}
      <output>{value}</output>
    </>
  );
}

test("a text field is named by its label, and described by hint and error", () => {
  render(
    <TextField name="ref" label="Ref" value="A" onValue={() => {}} hint="20 letters" error="Too short" />,
  );

  const field = screen.getByRole("textbox", { name: "Ref" });
  expect(field).toHaveAccessibleDescription("Error: Too short 20 letters");
  expect(field).toBeInvalid();
});

test("a secret is masked until it is shown", async () => {
  render(<SecretField name="s" label="Secret" revealLabel="Show secret" value="abc" onValue={() => {}} />);
  const field = screen.getByLabelText("Secret");
  expect(field).toHaveAttribute("type", "password");

  await userEvent.click(screen.getByRole("button", { name: "Show secret", pressed: false }));

  expect(field).toHaveAttribute("type", "text");
});

test.each(["9007199254740993", "-1.50", "1e-7", "0.10"])(
  "the number %s stays as it is typed",
  async (typed) => {
    render(
      <Held start="">
        {(value, set) => <NumberField name="n" label="Limit" value={value} onValue={set} />}
      </Held>,
    );

    await userEvent.type(screen.getByRole("textbox", { name: "Limit" }), typed);

    expect(screen.getByRole("status")).toHaveTextContent(typed);
  },
);

test("a number field takes no other characters", async () => {
  render(
    <Held start="">
      {(value, set) => <NumberField name="n" label="Limit" value={value} onValue={set} />}
    </Held>,
  );

  await userEvent.type(screen.getByRole("textbox", { name: "Limit" }), "1x2,3");

  expect(screen.getByRole("status")).toHaveTextContent("123");
});

test("a text area reports what is typed", async () => {
  const onValue = vi.fn();
  render(<TextAreaField name="t" label="Check" value="" onValue={onValue} isCode />);

  await userEvent.type(screen.getByRole("textbox", { name: "Check" }), "a");

  expect(onValue).toHaveBeenCalledWith("a");
});

test("a select opens by keyboard and takes the chosen option", async () => {
  render(
    <Held start="int8">
      {(value, set) => <SelectField name="t" label="Type" value={value} onValue={set} options={types} />}
    </Held>,
  );
  const select = screen.getByRole("combobox", { name: "Type" });
  expect(select).toHaveTextContent("bigint");

  await userEvent.tab();
  await userEvent.keyboard("{Enter}");
  const list = await screen.findByRole("listbox");
  expect(within(list).getByRole("option", { name: "bigint" })).toHaveAttribute("aria-selected", "true");
  await userEvent.click(within(list).getByRole("option", { name: "uuid" }));

  expect(screen.getByRole("status")).toHaveTextContent("uuid");
});

test("a combobox offers what matches, and forgets what is no option", async () => {
  render(
    <Held start="text">
      {(value, set) => <ComboboxField name="c" label="Type" value={value} onValue={set} options={types} />}
    </Held>,
  );
  const field = screen.getByRole("combobox", { name: "Type" });

  await userEvent.clear(field);
  await userEvent.type(field, "big");
  expect((await screen.findAllByRole("option")).map((option) => option.textContent)).toEqual(["bigint"]);
  await userEvent.click(screen.getByRole("option"));
  expect(screen.getByRole("status")).toHaveTextContent("int8");

  await userEvent.type(field, "zzz");
  await userEvent.tab();
  expect(field).toHaveValue("bigint");
  expect(screen.getByRole("status")).toHaveTextContent("int8");
});

test("a combobox may allow other values", async () => {
  render(
    <Held start="">
      {(value, set) => (
        <ComboboxField name="c" label="Type" value={value} onValue={set} options={types} allowsOther />
      )}
    </Held>,
  );

  await userEvent.type(screen.getByRole("combobox", { name: "Type" }), "numeric(10,2)");
  await userEvent.tab();

  expect(screen.getByRole("status")).toHaveTextContent("numeric(10,2)");
});

test("a switch is switched by its label, unless it may not be", async () => {
  const onSwitch = vi.fn();
  const { rerender } = render(<Switch label="RLS" hint="Safe" isOn={false} onSwitch={onSwitch} />);
  await userEvent.click(screen.getByText("RLS"));
  expect(onSwitch).toHaveBeenCalledWith(true);

  onSwitch.mockClear();
  rerender(<Switch label="RLS" isOn={false} onSwitch={onSwitch} disabledReason="No key" />);
  const control = screen.getByRole("switch", { name: "RLS", checked: false });
  await userEvent.click(control);
  expect(control).toHaveAccessibleDescription("No key");
  expect(onSwitch).not.toHaveBeenCalled();
});

test("a checkbox is checked by its label", async () => {
  const onCheck = vi.fn();
  render(<Checkbox name="c" label="Cascade" isChecked={false} onCheck={onCheck} />);

  await userEvent.click(screen.getByText("Cascade"));

  expect(onCheck).toHaveBeenCalledWith(true);
});

test("Escape clears a search once, and then is free for what is around it", async () => {
  const onKeyDown = vi.fn();
  document.body.addEventListener("keydown", onKeyDown);
  render(
    <Held start="ord">{(value, set) => <SearchField label="Search" value={value} onValue={set} />}</Held>,
  );
  const field = screen.getByRole("searchbox", { name: "Search" });

  await userEvent.click(field);
  await userEvent.keyboard("{Escape}");
  expect(field).toHaveValue("");
  expect(field).toHaveFocus();
  expect(onKeyDown).not.toHaveBeenCalled();

  await userEvent.keyboard("{Escape}");
  expect(onKeyDown).toHaveBeenCalledOnce();
  document.body.removeEventListener("keydown", onKeyDown);
});
