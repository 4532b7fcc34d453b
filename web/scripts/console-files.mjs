// The scripts of the console, from the Vite manifest: its frame, which every screen needs, and what each screen
// adds.

const entry = "console.html";
/** The screens: route files, which the router imports when they are opened. */
const isScreen = (name) => /^src\/platform\/routes\//.test(name);
/** Parts of the frame that load when they are opened. */
const isPart = (name) => /^src\/platform\/(shell|features)\//.test(name);

const scripts = (manifest, names) =>
  [...names].map((name) => manifest[name].file).filter((file) => file.endsWith(".js"));

/** A chunk and all its static imports. */
function closure(manifest, start, known = new Set()) {
  const seen = new Set();
  const collect = (name) => {
    if (seen.has(name) || known.has(name)) return;
    seen.add(name);
    for (const other of manifest[name].imports ?? []) collect(other);
  };
  collect(start);
  return seen;
}

export function consoleFiles(manifest) {
  if (!manifest[entry]?.isEntry) throw new Error(`${entry} is not an entry`);
  const frame = closure(manifest, entry);
  const dynamic = Object.keys(manifest).filter((name) => manifest[name].isDynamicEntry && !frame.has(name));
  const added = (predicate) =>
    dynamic
      .filter(predicate)
      .map((name) => ({ name, files: scripts(manifest, closure(manifest, name, frame)) }));
  const screens = added(isScreen);
  if (screens.length === 0) throw new Error("no screen is a chunk of its own");
  return { frame: scripts(manifest, frame), screens, parts: added(isPart) };
}
