import { Check, Copy } from "lucide-react";
import { useState } from "react";

import { copyText } from "../lib/copy";
import * as texts from "../texts";
import { Button } from "./button";

/** Copies a text and says so, also to those who only hear the page. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const [said, setSaid] = useState<string>(texts.common.copy);
  const copy = async () => {
    setSaid((await copyText(text)) ? texts.common.copied : texts.common.notCopied);
    setTimeout(() => setSaid(texts.common.copy), 2000);
  };
  const Icon = said === texts.common.copied ? Check : Copy;
  return (
    <Button variant="secondary" size="sm" aria-label={label} onClick={() => void copy()}>
      <Icon aria-hidden className="size-4" />
      <span aria-live="polite">{said}</span>
    </Button>
  );
}
