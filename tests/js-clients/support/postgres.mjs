// The database client of this folder, for suites that have none of their own.

export { default } from "postgres";
