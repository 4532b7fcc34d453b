import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { copyText } from "../lib/clipboard";
import { texts } from "../texts";
import { Button } from "./button";

/** Copies a text, and announces the result to screen readers. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [status, setStatus] = useState<string>(texts.common.copy);
  const copy = async () => {
    setStatus((await copyText(text)) ? texts.common.copied : texts.common.notCopied);
    setTimeout(() => setStatus(texts.common.copy), 2000);
  };
  const Icon = status === texts.common.copied ? Check : Copy;
  return (
    <Button variant="secondary" size="sm" aria-label={label} onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
      <span aria-live="polite">{status}</span>
    </Button>
  );
}
