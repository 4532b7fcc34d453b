// Serves the benchmark's database with @supabase/lite, configured by the environment.
import { serve } from "@hono/node-server";
import { App } from "@supabase/lite";
import { createPostgresConnection } from "@supabase/lite/postgres";

const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE, POOL_SIZE, JWT_SECRET, PORT } = process.env;

const connection = createPostgresConnection({
  url: `postgresql://${PGUSER}:${PGPASSWORD}@localhost:${PGPORT}/${PGDATABASE}`,
  // The folder of a unix socket has no place in the URL.
  postgresOptions: { host: PGHOST, port: Number(PGPORT), max: Number(POOL_SIZE), onnotice() {} },
});
const app = new App({
  connection,
  api: { schemas: ["public"], max_rows: 1000, anonymous_enabled: true },
  auth: { enabled: false, jwt_secret: JWT_SECRET },
  options: { server: { apiKeys: false } },
});
serve({ port: Number(PORT), hostname: "127.0.0.1", fetch: (request) => app.fetch(request) });
