import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

import type { Failure } from "../lib/failure";
import { words } from "../texts/words";
import { Button } from "./button";
import { fieldId, FormId } from "./field";
import { Notice } from "./notice";

type Props = {
  form: {
    errors: Partial<Record<string, string>>;
    failedAttempts: number;
    afterErrorShown: { current: (() => void) | null };
    isBusy: boolean;
    handleSubmit: (event: FormEvent) => void;
    failure: Failure | null;
    submit: () => Promise<void>;
  };
  /** Shown with the form's error. */
  help?: ReactNode;
  label?: string;
  children: ReactNode;
};

const findField = (formId: string, name: string) =>
  document.getElementById(fieldId(formId, name)) as HTMLInputElement | null;

/** The words of a field's label, which may contain links of its own. */
const labelText = (formId: string, name: string) => findField(formId, name)?.labels?.[0]?.textContent ?? name;

/**
 * A form that shows each error once: a general one above it, those of fields beside them. After a failed
 * submit the focus moves to the field that is wrong, or to a summary above the form that links to several.
 */
export function Form({ form, help, label, children }: Props) {
  const id = useId();
  const summary = useRef<HTMLDivElement>(null);
  const { form: general, ...fields } = form.errors;
  const wrong = Object.keys(fields).filter((name) => fields[name]);
  const onlyWrong = !general && wrong.length === 1 ? wrong[0] : undefined;

  const hasErrors = !!general || (form.failedAttempts > 0 && wrong.length > 0);
  // Prefix document.title while errors are shown.
  useEffect(() => {
    if (!hasErrors) return;
    document.title = words.errorMark + document.title;
    return () => {
      document.title = document.title.replace(words.errorMark, "");
    };
  }, [hasErrors]);

  const focusField = (name: string) => findField(id, name)?.focus();
  // Move the focus after failed submits only, not after errors found on blur.
  useEffect(() => {
    if (form.failedAttempts === 0) return;
    if (onlyWrong) focusField(onlyWrong);
    else summary.current?.focus();
    form.afterErrorShown.current?.();
    // oxlint-disable-next-line react/exhaustive-deps
  }, [form.failedAttempts, form.afterErrorShown]);

  return (
    <form noValidate aria-label={label} onSubmit={form.handleSubmit} className="grid max-w-md gap-5">
      {hasErrors && !onlyWrong && (
        <div ref={summary} tabIndex={-1} role="alert">
          <Notice tone="danger">
            {general && <p>{general}</p>}
            {help}
            {(form.failure?.code === "offline" || form.failure?.code === "server_error") && (
              <div>
                <Button variant="secondary" size="sm" onClick={() => void form.submit()}>
                  {words.tryAgain}
                </Button>
              </div>
            )}
            {wrong.length > 0 && (
              <>
                <p>{words.checkFields(wrong.length)}</p>
                <ul className="grid gap-1">
                  {wrong.map((name) => (
                    <li key={name}>
                      <a
                        href={`#${fieldId(id, name)}`}
                        className="underline underline-offset-2"
                        onClick={(event) => {
                          event.preventDefault();
                          focusField(name);
                        }}
                      >
                        {labelText(id, name)}
                      </a>
                    </li>
                  ))}
                </ul>
              </>
            )}
          </Notice>
        </div>
      )}
      {onlyWrong && help && (
        <Notice tone="info" role="status">
          {help}
        </Notice>
      )}
      <FormId value={id}>{children}</FormId>
    </form>
  );
}
