// When the focused element is removed from the DOM (a deleted row, a replaced button), browsers reset the
// focus to the body, and keyboard users lose their place. The nearest heading takes the focus instead.

/** The title of the topmost open dialog, else of the page. */
function nearestHeading(): HTMLElement | null {
  const titles = document.querySelectorAll<HTMLElement>("dialog[open] h2");
  return [...titles].at(-1) ?? document.querySelector<HTMLElement>("h1");
}

/** Installs listeners for the lifetime of the document. */
export function restoreLostFocus() {
  let lastFocused: Element | null = null;
  document.addEventListener("focusin", ({ target }) => {
    lastFocused = target as Element;
  });
  // A deliberate blur, such as a click elsewhere, is not a lost focus.
  document.addEventListener("focusout", ({ target }) => {
    queueMicrotask(() => {
      if (lastFocused === target && lastFocused?.isConnected && document.activeElement !== lastFocused) {
        lastFocused = null;
      }
    });
  });
  const observer = new MutationObserver(() => {
    if (!lastFocused || lastFocused.isConnected || document.activeElement !== document.body) return;
    const heading = nearestHeading();
    // There may be none while a page loads.
    heading?.focus();
  });
  observer.observe(document.body, { childList: true, subtree: true });
}
