// Form state: values, validation on blur and on submit, one submission at a time, placed errors.

import { type FormEvent, useRef, useState } from "react";

import { Failure, toFailure } from "./failure";
import { useFailureHandling } from "./failure-handling";

type Values = Record<string, string>;
export type Errors<V> = Partial<Record<keyof V | "form", string>>;

type Options<V extends Values> = {
  values: V;
  /** Validators by field; a field without one accepts every value. */
  checks?: { [K in keyof V]?: (value: string, values: V) => string | undefined };
  /** Selects words of its own for some failures. */
  screen?: string;
  submit: (values: V) => Promise<void>;
  /** `true` means handled, nothing is shown; a returned function runs after the error is shown. */
  onFailure?: (
    failure: Failure,
    form: { set: (name: keyof V, value: string) => void },
  ) => boolean | void | (() => void);
};

/** Longer than a click takes from press to release. */
const blurCheckDelayMs = 200;

export function useForm<V extends Values>(options: Options<V>) {
  const [values, setValues] = useState(options.values);
  const [errors, setErrors] = useState<Errors<V>>({});
  const [failure, setFailure] = useState<Failure | null>(null);
  const [isBusy, setBusy] = useState(false);
  /** Counts failed submissions; each one moves the focus to the error summary. */
  const [failedAttempts, setFailedAttempts] = useState(0);
  const isRunning = useRef(false);
  const { describe, replacePage, endSession } = useFailureHandling();
  const latestValues = useRef(values);
  const afterErrorShown = useRef<(() => void) | null>(null);

  const check = (name: keyof V, all: V) => options.checks?.[name]?.(all[name] ?? "", all);
  const set = (name: keyof V, value: string) => {
    latestValues.current = { ...latestValues.current, [name]: value };
    setValues(latestValues.current);
    setErrors((now) => ({ ...now, [name]: undefined, form: undefined }));
  };

  /** Skips empty fields, and keeps an error that is already shown. */
  const checkOnBlur = (name: keyof V, value: string | undefined) => {
    if (!value || latestValues.current[name] !== value || isRunning.current) return;
    setErrors((now) => ({ ...now, [name]: now[name] ?? check(name, latestValues.current) }));
  };

  const fail = (next: Errors<V>) => {
    setErrors(next);
    setFailedAttempts((count) => count + 1);
  };

  const submit = async (overrides: Partial<V> = {}) => {
    if (isRunning.current) return;
    const all = { ...values, ...overrides };
    const found: Errors<V> = {};
    for (const name of Object.keys(all) as (keyof V)[]) {
      const text = check(name, all);
      if (text) found[name] = text;
    }
    setFailure(null);
    afterErrorShown.current = null;
    if (Object.keys(found).length > 0) return fail(found);

    isRunning.current = true;
    setBusy(true);
    setErrors({});
    try {
      await options.submit(all);
    } catch (error) {
      const caught = toFailure(error);
      setFailure(caught);
      if (replacePage(caught)) return;
      const handled = options.onFailure?.(caught, { set });
      if (handled === true) return;
      afterErrorShown.current = typeof handled === "function" ? handled : null;
      const message = describe(caught, options.screen);
      endSession(caught);
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
    failedAttempts,
    afterErrorShown,
    set,
    fail,
    submit,
    handleSubmit: (event: FormEvent) => {
      event.preventDefault();
      void submit();
    },
    /** Props for a field component. */
    field: (name: keyof V & string) => ({
      name,
      value: values[name] ?? "",
      error: errors[name],
      onValue: (value: string) => set(name, value),
      onBlur: () => {
        // Delayed, because an error message shifts the layout: a button that is being pressed would move
        // away from the pointer before its release, and the click would be lost.
        const blurred = values[name];
        setTimeout(() => checkOnBlur(name, blurred), blurCheckDelayMs);
      },
    }),
  };
}
