// Copying text. The clipboard API needs a secure context; `execCommand` is the fallback.

/** Returns whether the text was copied. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyWithExecCommand(text);
  }
}

function copyWithExecCommand(text: string): boolean {
  const setData = (event: ClipboardEvent) => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", setData);
  try {
    return document.execCommand("copy");
  } finally {
    document.removeEventListener("copy", setData);
  }
}
