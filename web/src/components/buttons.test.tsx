// @vitest-environment happy-dom
import { render, screen } from "@testing-library/react";
import { userEvent } from "@testing-library/user-event";
import { Pencil } from "lucide-react";
import { expect, test, vi } from "vitest";

import { Button } from "./button";
import { IconButton } from "./icon-button";
import { Segments } from "./segments";
import { DisabledReason, Tooltip } from "./tooltip";

test("a busy button ignores clicks, keeps its place in the tab order and says what goes on", async () => {
  const onClick = vi.fn();
  render(
    <Button isBusy busyLabel="Saving…" onClick={onClick}>
      Save
    </Button>,
  );
  const button = screen.getByRole("button", { name: "Saving…" });

  await userEvent.tab();
  await userEvent.click(button);

  expect(button).toHaveFocus();
  expect(button).toHaveAttribute("aria-disabled", "true");
  expect(button).toHaveAttribute("aria-busy", "true");
  expect(onClick).not.toHaveBeenCalled();
});

test("a disabled button does not submit its form", async () => {
  const onSubmit = vi.fn((event: React.FormEvent) => event.preventDefault());
  render(
    <form onSubmit={onSubmit}>
      <Button type="submit" disabled>
        Save
      </Button>
    </form>,
  );

  await userEvent.click(screen.getByRole("button"));

  expect(onSubmit).not.toHaveBeenCalled();
});

test("an icon button has a name, also without its tooltip", async () => {
  const onClick = vi.fn();
  render(<IconButton label="Edit row" icon={Pencil} onClick={onClick} />);

  await userEvent.click(screen.getByRole("button", { name: "Edit row" }));

  expect(onClick).toHaveBeenCalledOnce();
});

test("a tooltip is shown on focus", async () => {
  render(
    <Tooltip text="2 rows">
      <button type="button">Rows</button>
    </Tooltip>,
  );
  expect(screen.queryByText("2 rows")).not.toBeInTheDocument();

  await userEvent.tab();

  expect(await screen.findByText("2 rows")).toBeInTheDocument();
});

test("the reason of a disabled control is in the text; without a reason nothing is added", () => {
  const button = <Button disabled>Drop</Button>;
  const { rerender, container } = render(<DisabledReason reason="Readers may not.">{button}</DisabledReason>);
  expect(container).toHaveTextContent("Readers may not.");

  rerender(<DisabledReason reason={undefined}>{button}</DisabledReason>);
  expect(container).toHaveTextContent(/^Drop$/);
});

test("segments say which one is chosen", async () => {
  const onValue = vi.fn();
  const options = [
    { value: "1h", label: "1 h", title: "Last hour" },
    { value: "7d", label: "7 d" },
  ];
  render(<Segments label="Range" value="1h" options={options} onValue={onValue} />);
  expect(screen.getByRole("button", { name: "Last hour", pressed: true })).toBeInTheDocument();

  await userEvent.click(screen.getByRole("button", { name: "7 d", pressed: false }));

  expect(onValue).toHaveBeenCalledWith("7d");
});
