// Asks Plinth and postgres-meta the same questions about the same database, and compares the answers
// member by member. Members that only Plinth has do not count.
//
// Deliberate differences are written down here, each as what postgres-meta's answer would have to be.

import assert from "node:assert/strict";

/**
 * What is asked, with what names an object in the answer. Not `column-privileges`: postgres-meta reads
 * `pg_authid` for it, which takes a superuser.
 */
export const questions = [
  ["schemas", byId],
  ["schemas?include_system_schemas=true", byId],
  ["tables", byId],
  ["tables?included_schemas=public,Other%20Schema&include_columns=false", byId],
  ["tables?excluded_schemas=public,auth,storage,realtime", byId],
  ["columns?included_schemas=public,Other%20Schema", byId],
  ["views?included_schemas=public", byId],
  ["materialized-views?included_schemas=public", byId],
  ["foreign-tables", byId],
  ["indexes?included_schemas=public,Other%20Schema", byId],
  ["functions?included_schemas=public,Other%20Schema,auth,storage", byId],
  ["triggers?included_schemas=public,storage", byId],
  ["policies", byId],
  ["types", byId],
  ["extensions", (object) => object.name],
  ["publications", byId],
  ["roles", byId],
  ["table-privileges?included_schemas=public,Other%20Schema", (object) => object.relation_id],
  ["config", (object) => object.name],
  ["config/version", () => "version"],
];

function byId(object) {
  return String(object.id);
}

/**
 * @param {string} path One of the questions.
 * @param {(path: string) => Promise<any>} plinth Its answer.
 * @param {(path: string) => Promise<any>} meta postgres-meta's answer.
 */
export async function compare(path, key, plinth, meta) {
  const [ours, theirs] = await Promise.all([plinth(path), meta(path)]);
  const kind = path.split(/[?/]/)[0] + (path === "config/version" ? "/version" : "");
  const list = (answer) => new Map([answer].flat().map((object) => [key(object), object]));
  const own = list(ours);
  const other = list(theirs);
  for (const name of own.keys()) {
    assert.ok(other.has(name) || isOnlyOurs(kind, own.get(name)), `${path}: only Plinth has ${name}`);
  }
  for (const [name, expected] of other) {
    assert.ok(own.has(name), `${path}: Plinth lacks ${name} (${expected.name})`);
    const adjusted = adjust(kind, structuredClone(expected), own.get(name));
    assert.deepEqual(within(own.get(name), adjusted), adjusted, `${path}: ${name} (${expected.name})`);
  }
  return other.size;
}

/** Of `ours`, the members that `theirs` has. */
function within(ours, theirs) {
  if (Array.isArray(theirs) && Array.isArray(ours)) {
    return ours.map((one, index) => within(one, theirs[index]));
  }
  if (theirs === null || ours === null || typeof theirs !== "object" || typeof ours !== "object") return ours;
  return Object.fromEntries(Object.keys(theirs).map((name) => [name, within(ours[name], theirs[name])]));
}

function isOnlyOurs(kind, object) {
  // postgres-meta takes the numbers of a table's columns for those of the index, and so leaves out an
  // index whose columns come late in the table.
  if (kind === "indexes") return true;
  // It shows no trigger on TRUNCATE, and none of tables that others own.
  return kind === "triggers";
}

/** Order that has no meaning, moments that pass, and what is different on purpose. */
function adjust(kind, theirs, ours) {
  const sort = (object, member, name) => {
    for (const side of [object, ours]) side[member]?.sort((a, b) => (name(a) < name(b) ? -1 : 1));
  };
  switch (kind) {
    case "tables": {
      // A foreign key of several columns: pairs of them, not every column with every other.
      const pairs = (one) => JSON.stringify(Object.values(one));
      theirs.relationships = theirs.relationships.filter((one) =>
        ours.relationships.some((pair) => pair.id === one.id && pair.source_column_name === one.source_column_name
          && pair.target_column_name === one.target_column_name),
      );
      sort(theirs, "relationships", (one) => `${one.id} ${one.source_column_name} ${pairs(one)}`);
      sort(theirs, "columns", (one) => one.ordinal_position);
      theirs.columns?.sort((a, b) => a.ordinal_position - b.ordinal_position);
      ours.columns?.sort((a, b) => a.ordinal_position - b.ordinal_position);
      return theirs;
    }
    case "views":
    case "materialized-views":
      for (const side of [theirs, ours]) side.columns?.sort((a, b) => a.ordinal_position - b.ordinal_position);
      return theirs;
    case "indexes":
      // The tree of PostgreSQL's parser, where Plinth has SQL.
      if (theirs.index_predicate !== null) delete theirs.index_predicate;
      // All of the index, by the numbers that they have there.
      theirs.index_attributes = theirs.index_attributes.filter((one) =>
        ours.index_attributes.some((own) => own.attribute_number === one.attribute_number));
      ours.index_attributes = ours.index_attributes.filter((one) =>
        theirs.index_attributes.some((other) => other.attribute_number === one.attribute_number));
      return theirs;
    case "functions":
      // null for what is no input; Plinth says false.
      for (const argument of theirs.args) argument.has_default ??= false;
      // Behind `=` in a value, nothing is cut.
      for (const name of Object.keys(theirs.config_params ?? {})) {
        if (ours.config_params[name].includes("=")) delete theirs.config_params[name];
      }
      return theirs;
    case "triggers":
      sort(theirs, "events", (event) => event);
      return theirs;
    case "publications":
      sort(theirs, "tables", (table) => table.id);
      return theirs;
    case "table-privileges":
      sort(theirs, "privileges", (one) => JSON.stringify([one.grantee, one.grantor, one.privilege_type]));
      return theirs;
    case "roles":
      delete theirs.active_connections;
      for (const name of Object.keys(theirs.config ?? {})) {
        if (ours.config[name].includes("=")) delete theirs.config[name];
      }
      return theirs;
    case "config":
      // Each session says who it is.
      if (["application_name", "lock_timeout", "statement_timeout", "jit"].includes(theirs.name)) return { name: theirs.name };
      // How the driver sets up its sessions.
      if (["session", "client"].includes(theirs.source) || ["session", "client"].includes(ours.source)) return { name: theirs.name };
      return theirs;
    case "config/version":
      delete theirs.active_connections;
      return theirs;
    default:
      return theirs;
  }
}
