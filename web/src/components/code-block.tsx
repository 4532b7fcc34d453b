import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { copyText } from "../lib/clipboard";
import { words } from "../texts/words";
import { IconButton } from "./icon-button";

const copiedForMs = 2000;

/** Whether a text was copied a moment ago, and a function that copies. */
export function useCopy() {
  const [state, setState] = useState<"idle" | "copied" | "failed">("idle");
  const copy = async (text: string) => {
    setState((await copyText(text)) ? "copied" : "failed");
    setTimeout(() => setState("idle"), copiedForMs);
  };
  const announcement = { idle: "", copied: words.copied, failed: words.notCopied }[state];
  return { isCopied: state === "copied", announcement, copy };
}

type CopyProps = { text: string; label?: string; size?: "sm" | "md" };

/** Copies a text, and announces it. */
export function CopyIcon({ text, label = words.copy, size = "sm" }: CopyProps) {
  const { isCopied, announcement, copy } = useCopy();
  return (
    <>
      <IconButton label={label} icon={isCopied ? Check : Copy} size={size} onClick={() => void copy(text)} />
      <span className="sr-only" role="status">
        {announcement}
      </span>
    </>
  );
}

type Props = {
  code: string;
  /** What the code is, for the button's name. */
  label: string;
  /** Above the code, such as a file's name. */
  title?: string;
  /** What is copied, if it differs from what is shown (masked secrets). */
  copied?: string;
};

/** A piece of code with a button that copies it. */
export function CodeBlock({ code, label, title, copied = code }: Props) {
  return (
    <figure
      aria-label={label}
      className="group relative overflow-hidden rounded-lg border border-line bg-sunk"
    >
      {title && (
        <figcaption className="flex min-h-9 items-center border-b border-line px-3 font-mono text-xs text-soft">
          {title}
        </figcaption>
      )}
      <div className="absolute end-1 top-1 rounded-md bg-sunk">
        <CopyIcon text={copied} label={`${words.copy}: ${label}`} />
      </div>
      <pre
        // Scrollable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        className="thin-scroll overflow-x-auto p-3 pe-12 font-mono text-dense leading-relaxed"
      >
        <code>{code}</code>
      </pre>
    </figure>
  );
}

type InlineProps = { text: string; label: string; isMasked?: boolean };

/** A value of one line, such as a URL or a key, that can be copied. */
export function CopyLine({ text, label }: InlineProps) {
  return (
    <div className="flex min-h-target min-w-0 items-center rounded-md border border-line bg-sunk ps-2.5 pe-0.5">
      <code className="thin-scroll min-w-0 flex-1 truncate font-mono text-dense" title={text}>
        {text}
      </code>
      <CopyIcon text={text} label={`${words.copy}: ${label}`} />
    </div>
  );
}
