import { Check, Circle } from "lucide-react";
import type { ComponentProps } from "react";

import { settings } from "../lib/settings";
import { passwordHints } from "../lib/validation";
import { texts } from "../texts";
import { PasswordField } from "./fields";

type Props = Omit<ComponentProps<typeof PasswordField>, "label"> & { label?: string };

/** A new password with a live checklist of its requirements. */
export function NewPasswordField({ label = texts.common.password, ...props }: Props) {
  const { minLength, characters } = settings.password;
  return (
    <PasswordField
      {...props}
      label={label}
      autoComplete="new-password"
      hint={
        <ul className="grid gap-1">
          {passwordHints(props.value, minLength, characters).map(({ text, isMet }) => {
            const Icon = isMet ? Check : Circle;
            return (
              <li
                key={text}
                className="flex items-center gap-2 data-met:text-good"
                data-met={isMet || undefined}
              >
                <Icon aria-hidden className="size-3.5 shrink-0" />
                {text}
                <span className="sr-only">{isMet ? texts.common.isMet : texts.common.isMissing}</span>
              </li>
            );
          })}
        </ul>
      }
    />
  );
}
