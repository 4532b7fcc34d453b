// Re-exports the PostgreSQL client for suites that do not depend on one.

export { default } from "postgres";
