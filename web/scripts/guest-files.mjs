// The scripts that a guest loads, from the Vite manifest: the entry and all its static and dynamic imports,
// except the chunk for signed-in users, and the texts of other languages.

const entry = "index.html";
const signedInApp = "src/visitor/signed-in-app.tsx";

const textsOf = (name) => /^src\/visitor\/texts\/(\w+)\/index\.ts$/.exec(name)?.[1];

export const languages = (manifest) => Object.keys(manifest).map(textsOf).filter(Boolean);

export function guestFiles(manifest, language) {
  // Without this check, a renamed chunk would be counted as part of the guest bundle.
  if (!manifest[signedInApp]?.isDynamicEntry) throw new Error(`${signedInApp} is not a separate chunk`);
  const others = Object.keys(manifest).filter((name) => textsOf(name) && textsOf(name) !== language);
  const seen = new Set([signedInApp, ...others]);
  const collect = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    const { imports = [], dynamicImports = [] } = manifest[name];
    for (const other of [...imports, ...dynamicImports]) collect(other);
  };
  // Other entries, such as the console, are separate documents.
  collect(entry);
  for (const name of [signedInApp, ...others]) seen.delete(name);
  const files = [...seen].map((name) => manifest[name].file);
  return files.filter((file) => file.endsWith(".js"));
}
