// Forms: values, checks on blur and on submit, one submission at a time, and errors in their places.

import { type FormEvent, useRef, useState } from "react";

import { useBanned } from "./banned";
import { errorText, type Screen } from "./error-text";
import { Failure, toFailure } from "./failure";
import { endIfSignedOut } from "./sign-out";

type Values = Record<string, string>;
export type Errors<V> = Partial<Record<keyof V | "form", string>>;

type Options<V extends Values> = {
  values: V;
  /** The checks of fields; a missing one accepts everything. */
  checks?: { [K in keyof V]?: (value: string, values: V) => string | undefined };
  screen?: Screen;
  submit: (values: V) => Promise<void>;
  /** Handles a failure by itself when it returns true; a function is called once the error is shown. */
  onFailure?: (
    failure: Failure,
    form: { set: (name: keyof V, value: string) => void },
  ) => boolean | void | (() => void);
};

/** As long as somebody holds a button down, in milliseconds. */
const pressing = 200;

export function useForm<V extends Values>(options: Options<V>) {
  const [values, setValues] = useState(options.values);
  const [errors, setErrors] = useState<Errors<V>>({});
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  /** Counts failed submissions; the summary takes the focus whenever it changes. */
  const [attempt, setAttempt] = useState(0);
  const isRunning = useRef(false);
  const isBanned = useBanned();
  const latest = useRef(values);
  const afterShown = useRef<(() => void) | null>(null);

  const check = (name: keyof V, all: V) => options.checks?.[name]?.(all[name] ?? "", all);
  const set = (name: keyof V, value: string) => {
    latest.current = { ...latest.current, [name]: value };
    setValues(latest.current);
    setErrors((now) => ({ ...now, [name]: undefined, form: undefined }));
  };

  /** An empty field that was only passed through is no mistake yet, and what is said about a value stays. */
  const checkLeft = (name: keyof V, value: string | undefined) => {
    if (!value || latest.current[name] !== value || isRunning.current) return;
    setErrors((now) => ({ ...now, [name]: now[name] ?? check(name, latest.current) }));
  };

  const fail = (next: Errors<V>) => {
    setErrors(next);
    setAttempt((count) => count + 1);
  };

  const submit = async (given: Partial<V> = {}) => {
    if (isRunning.current) return;
    const all = { ...values, ...given };
    const found: Errors<V> = {};
    for (const name of Object.keys(all) as (keyof V)[]) {
      const text = check(name, all);
      if (text) found[name] = text;
    }
    setFailure(null);
    afterShown.current = null;
    if (Object.keys(found).length > 0) return fail(found);

    isRunning.current = true;
    setBusy(true);
    setErrors({});
    try {
      await options.submit(all);
    } catch (error) {
      const caught = toFailure(error);
      setFailure(caught);
      if (isBanned(caught)) return;
      const handled = options.onFailure?.(caught, { set });
      if (handled === true) return;
      afterShown.current = typeof handled === "function" ? handled : null;
      const message = errorText(caught, options.screen);
      endIfSignedOut(caught);
      const place =
        message.place === "field" && message.field && message.field in all ? message.field : "form";
      fail({ [place]: message.text } as Errors<V>);
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  };

  return {
    values,
    errors,
    failure,
    isBusy,
    attempt,
    afterShown,
    set,
    fail,
    submit,
    handleSubmit: (event: FormEvent) => {
      event.preventDefault();
      void submit();
    },
    /** Everything that a field needs. */
    field: (name: keyof V & string) => ({
      name,
      value: values[name] ?? "",
      error: errors[name],
      onValue: (value: string) => set(name, value),
      onBlur: () => {
        // Later, because a message that appears moves what is below it: a button that is being pressed
        // would no longer be under the pointer when it is released.
        const left = values[name];
        setTimeout(() => checkLeft(name, left), pressing);
      },
    }),
  };
}
