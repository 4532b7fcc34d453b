// Every filter method of the client.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { PostgrestFilterBuilder } from "@supabase/postgrest-js";

import { column, startRegister } from "./support.mjs";

let register;
before(async () => {
  register = await startRegister();
});
after(() => register?.stop());

const everyone = ["Bergen", "Lisbon", "Kobe, East"];

/** For each method: the filter, and the harbours that match. */
const cases = {
  eq: [
    [(q) => q.eq("name", "Bergen"), ["Bergen"]],
    [(q) => q.eq("name", "Kobe, East"), ["Kobe, East"]],
    [(q) => q.eq("weather", "storm"), ["Bergen"]],
    [(q) => q.eq("facts->lights->>red", 2), ["Bergen"]],
  ],
  neq: [[(q) => q.neq("country", "NO"), ["Lisbon"]]],
  gt: [[(q) => q.gt("id", 2), ["Kobe, East"]]],
  gte: [[(q) => q.gte("id", 2), ["Lisbon", "Kobe, East"]]],
  lt: [[(q) => q.lt("facts->depth", 15), ["Bergen"]]],
  lte: [[(q) => q.lte("id", 1), ["Bergen"]]],
  like: [
    [(q) => q.like("name", "B%"), ["Bergen"]],
    [(q) => q.like("name", "b%"), []],
  ],
  likeAllOf: [[(q) => q.likeAllOf("name", ["B%", "%n"]), ["Bergen"]]],
  likeAnyOf: [[(q) => q.likeAnyOf("name", ["B%", "L%"]), ["Bergen", "Lisbon"]]],
  ilike: [[(q) => q.ilike("name", "b*"), ["Bergen"]]],
  ilikeAllOf: [[(q) => q.ilikeAllOf("name", ["l%", "%N"]), ["Lisbon"]]],
  ilikeAnyOf: [[(q) => q.ilikeAnyOf("name", ["b%", "k%"]), ["Bergen", "Kobe, East"]]],
  regexMatch: [[(q) => q.regexMatch("name", "^[BL].+n$"), ["Bergen", "Lisbon"]]],
  regexIMatch: [[(q) => q.regexIMatch("name", "^l"), ["Lisbon"]]],
  is: [
    [(q) => q.is("country", null), ["Kobe, East"]],
    [(q) => q.not("country", "is", null), ["Bergen", "Lisbon"]],
  ],
  isDistinct: [[(q) => q.isDistinct("country", "NO"), ["Lisbon", "Kobe, East"]]],
  in: [
    [(q) => q.in("name", ["Bergen", "Kobe, East"]), ["Bergen", "Kobe, East"]],
    [(q) => q.in("id", []), []],
  ],
  notIn: [[(q) => q.notIn("id", [1, 2]), ["Kobe, East"]]],
  contains: [
    [(q) => q.contains("tags", ["fish"]), ["Bergen", "Lisbon"]],
    [(q) => q.contains("facts", { lights: { red: 2 } }), ["Bergen"]],
    [(q) => q.contains("berths", "[2,3)"), ["Bergen"]],
  ],
  containedBy: [[(q) => q.containedBy("tags", ["sun", "fish"]), ["Lisbon", "Kobe, East"]]],
  rangeGt: [[(q) => q.rangeGt("berths", "[5,9)"), ["Kobe, East"]]],
  rangeGte: [[(q) => q.rangeGte("berths", "[5,9)"), ["Lisbon", "Kobe, East"]]],
  rangeLt: [[(q) => q.rangeLt("berths", "[5,9)"), ["Bergen"]]],
  rangeLte: [[(q) => q.rangeLte("berths", "[5,9)"), ["Bergen", "Lisbon"]]],
  rangeAdjacent: [[(q) => q.rangeAdjacent("berths", "[5,9)"), ["Bergen"]]],
  overlaps: [
    [(q) => q.overlaps("tags", ["sun", "snow"]), ["Lisbon"]],
    [(q) => q.overlaps("berths", "[4,6)"), ["Bergen", "Lisbon"]],
  ],
  textSearch: [
    [(q) => q.textSearch("story", "house & wooden", { config: "english" }), ["Bergen"]],
    [(q) => q.textSearch("story", "steep hills", { type: "plain" }), ["Lisbon"]],
    [(q) => q.textSearch("story", "steep hills", { type: "phrase", config: "english" }), ["Lisbon"]],
    [(q) => q.textSearch("story", "house or hill", { type: "websearch", config: "english" }), ["Bergen", "Lisbon"]],
    [(q) => q.textSearch("name", "bergen"), ["Bergen"]],
  ],
  match: [[(q) => q.match({ country: "NO", id: 1 }), ["Bergen"]]],
  not: [[(q) => q.not("name", "like", "B%"), ["Lisbon", "Kobe, East"]]],
  or: [
    [(q) => q.or("id.eq.3,and(country.eq.NO,weather.eq.storm)"), ["Bergen", "Kobe, East"]],
    [(q) => q.or('name.eq."Kobe, East",tags.cs.{sun}'), ["Lisbon", "Kobe, East"]],
    [(q) => q.or("id.not.eq.1,not.and(id.eq.1,weather.eq.storm)"), ["Lisbon", "Kobe, East"]],
  ],
  filter: [
    [(q) => q.filter("id", "in", "(1,2)"), ["Bergen", "Lisbon"]],
    [(q) => q.filter("id", "gte(any)", "{2,3}"), ["Lisbon", "Kobe, East"]],
  ],
};

for (const [method, requests] of Object.entries(cases)) {
  test(`${method} finds what it says`, async () => {
    for (const [ask, expected] of requests) {
      const harbours = register.client().from("harbours").select("name").order("id");
      assert.deepEqual(await column("name", ask(harbours)), expected, ask.toString());
    }
  });
}

test("no filter of the client is left out here", () => {
  const methods = Object.getOwnPropertyNames(PostgrestFilterBuilder.prototype);
  const filters = methods.filter((name) => !["constructor", "throwOnError"].includes(name));

  assert.deepEqual(Object.keys(cases).toSorted(), filters.toSorted());
});

test("filters add up", async () => {
  const harbours = register.client().from("harbours").select("name").order("id");

  assert.deepEqual(await column("name", harbours.gt("id", 1).eq("country", "PT")), ["Lisbon"]);
});

test("a list of a thousand values is one request", async () => {
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
  const harbours = register.client().from("harbours").select("name").order("id");

  assert.deepEqual(await column("name", harbours.in("id", ids)), everyone);
});
