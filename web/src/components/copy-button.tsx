import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { copyText } from "../lib/clipboard";
import { words } from "../texts/words";
import { Button } from "./button";

/** Copies a text, and announces the result to screen readers. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [status, setStatus] = useState<string>(words.copy);
  const copy = async () => {
    setStatus((await copyText(text)) ? words.copied : words.notCopied);
    setTimeout(() => setStatus(words.copy), 2000);
  };
  const Icon = status === words.copied ? Check : Copy;
  return (
    <Button variant="secondary" size="sm" aria-label={label} onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
      <span aria-live="polite">{status}</span>
    </Button>
  );
}
