// Whoever uses the keyboard stays where they are when what they pressed disappears: a row that they removed,
// a button that gave way to something else. Browsers would begin again at the top of the document.

/** Where to go on: the dialog that is open, or the page. */
function nearestHeading(): HTMLElement | null {
  const titles = document.querySelectorAll<HTMLElement>("dialog[open] h2");
  return [...titles].at(-1) ?? document.querySelector<HTMLElement>("h1");
}

/** Watches over the focus for as long as the document is there. */
export function keepFocus() {
  let last: Element | null = null;
  document.addEventListener("focusin", ({ target }) => {
    last = target as Element;
  });
  // Whoever left it by themselves, with a click beside it, lost nothing.
  document.addEventListener("focusout", ({ target }) => {
    queueMicrotask(() => {
      if (last === target && last?.isConnected && document.activeElement !== last) last = null;
    });
  });
  const observer = new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    const heading = nearestHeading();
    // Between two pages there may be none.
    heading?.focus();
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
