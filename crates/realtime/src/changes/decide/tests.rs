//! Every operator on every type that is evaluated in process, and what is left to the database.

use bytes::Bytes;
use proptest::prelude::*;

use super::*;
use crate::changes::{filter, json_value::oid};

fn column(type_oid: u32) -> Column {
    Column::for_test("c", type_oid)
}

fn condition(type_oid: u32, text: &str) -> Condition {
    let filters = filter::parse(&format!("c={text}")).expect("a filter");
    let [filter] = &filters[..] else {
        panic!("one filter");
    };
    Condition::new(filter.clone(), &column(type_oid))
}

fn text(text: &str) -> Value {
    Value::Text(Bytes::copy_from_slice(text.as_bytes()))
}

/// The condition and its negation, for a value.
#[track_caller]
fn check(type_oid: u32, value: &str, filter: &str, expected: bool) {
    let decided = |negated: &str| {
        let condition = condition(type_oid, &format!("{negated}{filter}"));
        condition.decide(Some(&text(value)))
    };
    let (yes, no) = if expected {
        (Decision::Match, Decision::NoMatch)
    } else {
        (Decision::NoMatch, Decision::Match)
    };
    assert_eq!(
        (decided(""), decided("not.")),
        (yes, no),
        "{value} {filter}"
    );
}

#[track_caller]
fn needs_database(type_oid: u32, value: &str, filter: &str) {
    let decided = condition(type_oid, filter).decide(Some(&text(value)));
    assert_eq!(decided, Decision::NeedsDatabase, "{value} {filter}");
}

#[test]
fn numbers_are_compared_as_numbers() {
    for type_oid in [
        oid::INT2,
        oid::INT4,
        oid::INT8,
        oid::FLOAT4,
        oid::FLOAT8,
        oid::NUMERIC,
    ] {
        check(type_oid, "10", "eq.10", true);
        check(type_oid, "10", "neq.10", false);
        check(type_oid, "9", "lt.10", true);
        check(type_oid, "-9", "lt.-10", false);
        check(type_oid, "10", "lte.10", true);
        check(type_oid, "11", "gt.10", true);
        check(type_oid, "9", "gte.10", false);
        check(type_oid, "2", "in.(1,2,3)", true);
        check(type_oid, "4", "in.(1, 2 ,3)", false);
        check(type_oid, "2", "isdistinct.2", false);
    }
}

#[test]
fn numeric_keeps_all_digits() {
    check(oid::NUMERIC, "1.10", "eq.1.1", true);
    check(oid::NUMERIC, "0.0", "eq.-0", true);
    check(oid::NUMERIC, "0.1", "gt.0.09999999999999999999", true);
    check(
        oid::NUMERIC,
        "12345678901234567890.1",
        "lt.12345678901234567890.2",
        true,
    );
    check(oid::NUMERIC, "-2", "gt.-10", true);
    check(oid::NUMERIC, "5", "gt..5", true);
    needs_database(oid::NUMERIC, "NaN", "gt.1");
    needs_database(oid::NUMERIC, "1000", "eq.1e3");
}

#[test]
fn floats_are_compared_as_in_postgresql() {
    check(oid::FLOAT8, "NaN", "gt.1", true);
    check(oid::FLOAT8, "NaN", "eq.NaN", true);
    check(oid::FLOAT8, "-0", "eq.0", true);
    check(oid::FLOAT8, "1e+20", "eq.1e20", true);
    check(oid::FLOAT4, "0.1", "eq.0.1", true);
    check(oid::FLOAT4, "0.1", "eq.0.10000000149011612", true);
    needs_database(oid::FLOAT8, "Infinity", "gt.1");
}

#[test]
fn booleans_have_many_spellings() {
    for (value, filter, expected) in [
        ("t", "eq.true", true),
        ("t", "eq.YES", true),
        ("f", "eq.off", true),
        ("f", "neq.f", false),
        ("f", "lt.t", true),
        ("t", "is.true", true),
        ("t", "is.false", false),
        ("t", "is.unknown", false),
        ("f", "is.false", true),
        ("t", "is.null", false),
    ] {
        check(oid::BOOL, value, filter, expected);
    }
}

#[test]
fn uuids_are_equal_however_they_are_written() {
    let value = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
    check(
        oid::UUID,
        value,
        "eq.A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        true,
    );
    check(
        oid::UUID,
        value,
        "eq.{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
        true,
    );
    check(
        oid::UUID,
        value,
        "gt.00000000-0000-0000-0000-000000000000",
        true,
    );
    needs_database(
        oid::UUID,
        value,
        "eq.a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
    );
}

#[test]
fn times_are_compared_as_moments() {
    let value = "2025-11-03 09:32:55.5+00";
    check(
        oid::TIMESTAMPTZ,
        value,
        "eq.2025-11-03T10:32:55.5+01:00",
        true,
    );
    check(oid::TIMESTAMPTZ, value, "lt.2025-11-03T09:32:56Z", true);
    check(oid::TIMESTAMPTZ, value, "gte.2025-11-02 23:59:59-12", false);
    needs_database(oid::TIMESTAMPTZ, value, "gt.2025-11-03 09:00:00");
    needs_database(oid::TIMESTAMPTZ, value, "gt.yesterday");
    needs_database(oid::TIMESTAMPTZ, "infinity", "gt.2025-11-03T09:32:56Z");
    check(oid::TIMESTAMP, "2025-11-03 09:32:55", "gt.2025-11-03", true);
    check(
        oid::TIMESTAMP,
        "2025-11-03 09:32:55",
        "eq.2025-11-03T09:32:55+05",
        true,
    );
    check(oid::DATE, "2025-11-03", "lt.2025-11-10", true);
    needs_database(oid::DATE, "0044-03-15 BC", "lt.2025-11-10");
    needs_database(oid::DATE, "2025-11-03", "lt.2025-02-30");
}

#[test]
fn texts_are_compared_for_equality_and_ordered_by_the_database() {
    for type_oid in [oid::TEXT, oid::VARCHAR] {
        check(type_oid, "a", "eq.a", true);
        check(type_oid, "a", "eq.A", false);
        check(type_oid, "a ", "neq.a", true);
        check(type_oid, "b,c", r#"in.(a,"b,c")"#, true);
        check(type_oid, "NULL", r#"in.("NULL")"#, true);
        check(type_oid, "hello", "like.h%o", true);
        check(type_oid, "hello", "ilike.H%", true);
        check(type_oid, "a", "isdistinct.b", true);
        needs_database(type_oid, "a", "lt.b");
        needs_database(type_oid, "ä", "ilike.Ä");
        needs_database(type_oid, "a", "match.^a");
        needs_database(type_oid, "a", "imatch.^a");
    }
}

#[test]
fn other_types_and_collations_are_left_to_the_database() {
    let bpchar = 1042;
    needs_database(bpchar, "a  ", "eq.a");
    needs_database(90_000, "a", "eq.a");
    needs_database(oid::INT4, "5", "like.5%");
    let mut loose = column(oid::TEXT);
    loose.has_deterministic_collation = false;
    let filter = condition(oid::TEXT, "eq.a").filter;
    let decided = Condition::new(filter, &loose).decide(Some(&text("A")));
    assert_eq!(decided, Decision::NeedsDatabase);
    let is_null = condition(90_000, "is.null");
    assert_eq!(is_null.decide(Some(&text("x"))), Decision::NoMatch);
    assert_eq!(is_null.decide(Some(&Value::Null)), Decision::Match);
}

#[test]
fn null_matches_only_tests_for_null() {
    let null = |filter: &str| condition(oid::BOOL, filter).decide(Some(&Value::Null));
    for filter in ["eq.t", "neq.t", "lt.t", "in.(t)"] {
        assert_eq!(null(filter), Decision::NoMatch, "{filter}");
        assert_eq!(
            null(&format!("not.{filter}")),
            Decision::NoMatch,
            "not.{filter}"
        );
    }
    for (filter, expected) in [
        ("is.null", Decision::Match),
        ("not.is.null", Decision::NoMatch),
        ("is.unknown", Decision::Match),
        ("is.true", Decision::NoMatch),
        ("not.is.true", Decision::Match),
        ("isdistinct.t", Decision::Match),
        ("not.isdistinct.t", Decision::NoMatch),
        ("in.()", Decision::NoMatch),
        ("not.in.()", Decision::Match),
    ] {
        assert_eq!(null(filter), expected, "{filter}");
    }
}

#[test]
fn a_null_in_a_list_leaves_open_what_is_not_in_it() {
    check(oid::INT4, "1", "in.(1,null)", true);
    for filter in ["in.(2,null)", "not.in.(2,null)"] {
        let decided = condition(oid::INT4, filter).decide(Some(&text("1")));
        assert_eq!(decided, Decision::NoMatch, "{filter}");
    }
}

#[test]
fn a_value_that_is_not_in_the_change_never_matches() {
    for filter in ["eq.1", "not.eq.1", "is.null", "not.is.null", "gt.1"] {
        let condition = condition(oid::INT4, filter);
        assert_eq!(condition.decide(None), Decision::NoMatch);
        assert_eq!(condition.decide(Some(&Value::Unchanged)), Decision::NoMatch);
    }
}

#[test]
fn all_conditions_must_hold_and_a_failing_one_needs_no_database() {
    let (one, ask) = (condition(oid::INT4, "eq.1"), condition(90_000, "eq.x"));
    let decide = |conditions: &[Condition], value: &str| {
        let value = text(value);
        decide_all(conditions, |_| Some(&value))
    };
    assert_eq!(decide(&[], "1"), Decision::Match);
    assert_eq!(decide(&[one.clone(), one.clone()], "1"), Decision::Match);
    assert_eq!(
        decide(&[ask.clone(), one.clone()], "1"),
        Decision::NeedsDatabase
    );
    assert_eq!(decide(&[ask, one], "2"), Decision::NoMatch);
}

#[test]
fn an_index_finds_what_equality_finds() {
    let only = |type_oid, filter: &str| condition(type_oid, filter).only_values();
    let key = |type_oid, value: &str| Condition::key_of(&column(type_oid), value);
    assert_eq!(
        only(oid::INT4, "eq.07"),
        Some(vec![key(oid::INT4, "7").expect("a key")])
    );
    let listed = only(oid::TEXT, "in.(a,null,b)").expect("keys");
    assert_eq!(
        listed,
        [key(oid::TEXT, "a"), key(oid::TEXT, "b")].map(|key| key.expect("a key"))
    );
    for filter in ["not.eq.1", "gt.1", "neq.1", "is.null", "isdistinct.1"] {
        assert_eq!(only(oid::INT4, filter), None, "{filter}");
    }
    assert_eq!(only(oid::NUMERIC, "eq.1.0"), None);
}

proptest! {
    #[test]
    fn integers_are_ordered(a: i64, b: i64) {
        let decided = condition(oid::INT8, &format!("lt.{b}")).decide(Some(&text(&a.to_string())));
        prop_assert_eq!(decided == Decision::Match, a < b);
    }

    #[test]
    fn numerics_are_ordered(a: i32, b: i32, scale in 0_u32..6) {
        let written = |number: i32| {
            let (sign, digits) = (if number < 0 { "-" } else { "" }, number.unsigned_abs());
            let power = 10_u32.pow(scale);
            format!("{sign}{}.{:0width$}", digits / power, digits % power, width = scale as usize)
        };
        let condition = condition(oid::NUMERIC, &format!("gt.{}", written(b)));
        let decided = condition.decide(Some(&text(&written(a))));
        prop_assert_eq!(decided == Decision::Match, a > b);
    }

    #[test]
    fn no_value_makes_it_panic(value in ".*", operand in ".*", type_index in 0..10_usize) {
        let types = [16, 20, 25, 700, 701, 1082, 1114, 1184, 1700, 2950];
        for operator in Operator::ALL {
            let filter = Filter {
                column: "c".to_owned(),
                operator,
                value: operand.clone(),
                is_negated: false,
            };
            let condition = Condition::new(filter, &column(types[type_index]));
            _ = condition.decide(Some(&text(&value)));
        }
    }
}
