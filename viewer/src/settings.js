// What a page remembers: in the address after #, so that a link carries it, else in the browser's storage, if it has one.

const PREFIX = "grouser.";
const kept = new Map(); // for as long as the page is open, where nothing else can keep it

function inAddress() {
  return new URLSearchParams(window.location.hash.slice(1));
}

/** The text that was remembered under a name, or null. */
export function recall(name) {
  const given = inAddress().get(name);
  if (given !== null) return given;
  try {
    const stored = window.localStorage.getItem(PREFIX + name);
    if (stored !== null) return stored;
  } catch {
    // no storage here
  }
  return kept.get(name) ?? null;
}

/** Remember a text; `shared`: in the address too. */
export function remember(name, text, { shared = false } = {}) {
  kept.set(name, text);
  try {
    window.localStorage.setItem(PREFIX + name, text);
  } catch {
    // no storage here, or it is full
  }
  if (!shared) return;
  const address = inAddress();
  address.set(name, text);
  try {
    window.history.replaceState(null, "", `#${address.toString().replaceAll("%2C", ",")}`);
  } catch {
    // a page in a frame may not change its address
  }
}
