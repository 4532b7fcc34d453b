// @vitest-environment happy-dom
import { act, renderHook, waitFor } from "@testing-library/react";
import { expect, test, vi } from "vitest";

import { Failure } from "./failure";
import { FailureHandlingContext, type Message } from "./failure-handling";
import { useAction } from "./use-action";
import { useForm } from "./use-form";

/** A promise that the test ends. */
function pending() {
  let finish = () => {};
  let fail = (_: Error) => {};
  const promise = new Promise<void>((resolve, reject) => {
    finish = resolve;
    fail = reject;
  });
  return { promise, finish: () => finish(), fail: (error: Error) => fail(error) };
}

test("a second submit is ignored while the first one runs, and allowed after it", async () => {
  const first = pending();
  const submit = vi.fn(() => first.promise);
  const { result } = renderHook(() => useForm({ values: { name: "a" }, submit }));

  await act(async () => {
    void result.current.submit();
    void result.current.submit();
  });
  expect(submit).toHaveBeenCalledOnce();
  expect(result.current.isBusy).toBe(true);
  await act(async () => first.finish());
  await act(() => result.current.submit());

  expect(submit).toHaveBeenCalledTimes(2);
  expect(result.current.isBusy).toBe(false);
});

test("what is wrong is not sent", async () => {
  const submit = vi.fn(async () => {});
  const checks = { name: (name: string) => (name ? undefined : "Missing") };
  const { result } = renderHook(() => useForm({ values: { name: "" }, checks, submit }));

  await act(() => result.current.submit());
  expect(result.current.errors).toEqual({ name: "Missing" });
  expect(submit).not.toHaveBeenCalled();

  act(() => result.current.set("name", "shop"));
  await act(() => result.current.submit());
  expect(result.current.errors).toEqual({});
  expect(submit).toHaveBeenCalledWith({ name: "shop" });
});

const handling = (message: Message, isReplaced = false) => {
  const endSession = vi.fn();
  const value = { describe: () => message, replacePage: () => isReplaced, endSession };
  const wrapper = ({ children }: { children: React.ReactNode }) => (
    <FailureHandlingContext value={value}>{children}</FailureHandlingContext>
  );
  return { wrapper, endSession };
};
const refused = () => Promise.reject(new Failure("x", "no"));

test.each<[Message, Record<string, string>]>([
  [{ place: "field", field: "name", text: "Taken" }, { name: "Taken" }],
  [{ place: "field", field: "other", text: "Taken" }, { form: "Taken" }],
  [{ place: "banner", text: "Down" }, { form: "Down" }],
])("the message %j is shown as %j", async (message, errors) => {
  const { wrapper, endSession } = handling(message);
  const { result } = renderHook(() => useForm({ values: { name: "a" }, submit: refused }), { wrapper });

  await act(() => result.current.submit());

  expect(result.current.errors).toEqual(errors);
  expect(result.current.failedAttempts).toBe(1);
  expect(endSession).toHaveBeenCalledOnce();
});

test("a failure that replaces the page is not shown in the form", async () => {
  const { wrapper } = handling({ place: "page", text: "Banned" }, true);
  const { result } = renderHook(() => useForm({ values: { name: "a" }, submit: refused }), { wrapper });

  await act(() => result.current.submit());

  expect(result.current.errors).toEqual({});
});

test("an action runs once at a time, keeps its failure, and ends the session only if it may", async () => {
  const { wrapper, endSession } = handling({ place: "banner", text: "" });
  const first = pending();
  const action = vi.fn(() => first.promise);
  const { result } = renderHook(() => useAction(action, { handlesSessionErrors: false }), { wrapper });

  await act(async () => {
    void result.current.run();
    void result.current.run();
  });
  expect(action).toHaveBeenCalledOnce();
  await act(async () => first.fail(new Failure("bad_jwt", "")));

  await waitFor(() => expect(result.current.failure?.code).toBe("bad_jwt"));
  expect(result.current.isBusy).toBe(false);
  expect(endSession).not.toHaveBeenCalled();
});
