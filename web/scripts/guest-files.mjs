// The scripts that a guest loads, by the manifest of a build: the entry and everything that it imports now
// or later, but what is behind the sign-in.

const entry = "index.html";
const member = "src/account/member-app.tsx";

export function guestFiles(manifest) {
  // A chunk that is not found would be counted nowhere, or everything with it.
  if (!manifest[member]?.isDynamicEntry) throw new Error(`${member} is no chunk of its own`);
  const seen = new Set([member]);
  const collect = (name) => {
    if (seen.has(name)) return;
    seen.add(name);
    const { imports = [], dynamicImports = [] } = manifest[name];
    for (const other of [...imports, ...dynamicImports]) collect(other);
  };
  // Other entries, such as the console, are other documents.
  collect(entry);
  seen.delete(member);
  const files = [...seen].map((name) => manifest[name].file);
  return files.filter((file) => file.endsWith(".js"));
}
