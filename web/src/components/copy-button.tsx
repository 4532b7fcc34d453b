import { Check, Copy } from "lucide-react";
import { useState } from "react";

import * as texts from "../texts";
import { Button } from "./button";

/** Copies a text and says so, also to those who only hear the page. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  const Icon = isCopied ? Check : Copy;
  return (
    <Button variant="secondary" size="sm" aria-label={label} onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
      <span aria-live="polite">{isCopied ? texts.common.copied : texts.common.copy}</span>
    </Button>
  );
}
