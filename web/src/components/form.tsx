import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

import type { Failure } from "../lib/failure";
import * as texts from "../texts";
import { Button } from "./button";
import { fieldId, FormId } from "./field";
import { Notice } from "./notice";

type Props = {
  form: {
    errors: Partial<Record<string, string>>;
    attempt: number;
    afterShown: { current: (() => void) | null };
    isBusy: boolean;
    handleSubmit: (event: FormEvent) => void;
    failure: Failure | null;
    submit: () => Promise<void>;
  };
  /** Further words or actions beside the form's own error. */
  help?: ReactNode;
  label?: string;
  children: ReactNode;
};

/** A form whose errors are summed up above it; the summary takes the focus after a failed submit. */
export function Form({ form, help, label, children }: Props) {
  const id = useId();
  const summary = useRef<HTMLDivElement>(null);
  const { form: general, ...fields } = form.errors;
  const wrong = Object.entries(fields).filter((entry): entry is [string, string] => !!entry[1]);

  const isShown = !!general || (form.attempt > 0 && wrong.length > 0);
  // The title of the page names its state, and is outside React.
  useEffect(() => {
    if (!isShown) return;
    document.title = texts.common.errorMark + document.title;
    return () => {
      document.title = document.title.replace(texts.common.errorMark, "");
    };
  }, [isShown]);

  // Focus is outside React; it follows attempts, not every error that blur finds.
  useEffect(() => {
    if (form.attempt === 0) return;
    summary.current?.focus();
    form.afterShown.current?.();
  }, [form.attempt, form.afterShown]);

  return (
    <form noValidate aria-label={label} onSubmit={form.handleSubmit} className="grid max-w-md gap-5">
      {isShown && (
        <div ref={summary} tabIndex={-1} role="alert">
          <Notice tone="danger">
            {general && <p>{general}</p>}
            {help}
            {(form.failure?.code === "offline" || form.failure?.code === "server_error") && (
              <div>
                <Button variant="secondary" size="sm" onClick={() => void form.submit()}>
                  {texts.common.tryAgain}
                </Button>
              </div>
            )}
            {wrong.length > 0 && (
              <ul className="grid gap-1">
                {wrong.map(([name, text]) => (
                  <li key={name}>
                    <a
                      href={`#${fieldId(id, name)}`}
                      className="underline underline-offset-2"
                      onClick={(event) => {
                        event.preventDefault();
                        document.getElementById(fieldId(id, name))?.focus();
                      }}
                    >
                      {text}
                    </a>
                  </li>
                ))}
              </ul>
            )}
          </Notice>
        </div>
      )}
      <FormId value={id}>{children}</FormId>
    </form>
  );
}
