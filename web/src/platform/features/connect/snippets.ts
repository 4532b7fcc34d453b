// Code to connect an application, with the project's URL and publishable key filled in (N41).

export type Snippet = { title: string; code: string };
export type Way = { id: string; title: string; snippets: Snippet[] };

type Values = {
  url: string;
  /** The publishable key. */
  key: string;
  ref: string;
  /** Host of the database; empty if the server does not tell. */
  databaseHost: string;
};

const password = "[YOUR-PASSWORD]";

/** supabase-js derives the key of its storage from the host; projects below a path of one host need their own. */
const storageOption = ({ url, ref }: Values) =>
  new URL(url).pathname === "/" ? "" : `\n  { auth: { storageKey: "sb-${ref}-auth-token" } },`;

function databaseUri({ databaseHost, ref, url }: Values): string {
  const host = databaseHost || new URL(url).hostname;
  const port = host.startsWith("db.") ? 5432 : 54322;
  return `postgresql://postgres.${ref}:${password}@${host}:${port}/postgres`;
}

export function waysToConnect(values: Values): Way[] {
  const { url, key, ref } = values;
  const uri = databaseUri(values);
  const storage = storageOption(values);
  return [
    {
      id: "js",
      title: "JavaScript",
      snippets: [
        { title: "sh", code: "npm install @supabase/supabase-js" },
        {
          title: "plinth.ts",
          code: `import { createClient } from "@supabase/supabase-js";

export const plinth = createClient(
  "${url}",
  "${key}",${storage}
);`,
        },
      ],
    },
    {
      id: "next",
      title: "Next.js",
      snippets: [
        {
          title: ".env.local",
          code: `NEXT_PUBLIC_SUPABASE_URL=${url}\nNEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY=${key}`,
        },
        {
          title: "lib/server.ts",
          code: `import { createServerClient } from "@supabase/ssr";
import { cookies } from "next/headers";

export async function createClient() {
  const store = await cookies();
  return createServerClient(
    process.env.NEXT_PUBLIC_SUPABASE_URL!,
    process.env.NEXT_PUBLIC_SUPABASE_PUBLISHABLE_KEY!,
    {
      cookieOptions: { name: "sb-${ref}-auth-token" },
      cookies: {
        getAll: () => store.getAll(),
        setAll: (all) => all.forEach(({ name, value, options }) => store.set(name, value, options)),
      },
    },
  );
}`,
        },
      ],
    },
    {
      id: "rust",
      title: "Rust",
      snippets: [
        { title: "sh", code: "cargo add plinth-client" },
        {
          title: "main.rs",
          code: `let plinth = plinth_client::Client::new("${url}", "${key}")?;`,
        },
      ],
    },
    {
      id: "python",
      title: "Python",
      snippets: [
        { title: "sh", code: "pip install supabase" },
        {
          title: "app.py",
          code: `from supabase import create_client\n\nplinth = create_client("${url}", "${key}")`,
        },
      ],
    },
    {
      id: "curl",
      title: "curl",
      snippets: [{ title: "sh", code: `curl '${url}/rest/v1/' \\\n  -H 'apikey: ${key}'` }],
    },
    { id: "psql", title: "psql", snippets: [{ title: "sh", code: `psql '${uri}'` }] },
    {
      id: "prisma",
      title: "Prisma",
      snippets: [
        { title: ".env", code: `DATABASE_URL="${uri}"` },
        {
          title: "schema.prisma",
          code: `datasource db {\n  provider = "postgresql"\n  url      = env("DATABASE_URL")\n}`,
        },
      ],
    },
    {
      id: "drizzle",
      title: "Drizzle",
      snippets: [
        { title: ".env", code: `DATABASE_URL="${uri}"` },
        {
          title: "db.ts",
          code: `import { drizzle } from "drizzle-orm/postgres-js";\n\nexport const db = drizzle(process.env.DATABASE_URL!);`,
        },
      ],
    },
  ];
}
