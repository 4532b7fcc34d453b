//! Filters, logic trees and orders.

use proptest::prelude::*;

use super::{names::quote, *};

fn condition(text: &str) -> (bool, Operation) {
    let filter = read_ok::<FilterValue>(text).on(column(""));
    (filter.is_negated, filter.operation)
}

fn quantified(operator: QuantOperator, value: &str) -> Operation {
    Operation::Quantified {
        operator,
        quantifier: None,
        value: value.to_owned(),
    }
}

fn any_or_all(operator: QuantOperator, quantifier: Quantifier, value: &str) -> Operation {
    Operation::Quantified {
        operator,
        quantifier: Some(quantifier),
        value: value.to_owned(),
    }
}

fn equal(value: &str) -> Operation {
    quantified(QuantOperator::Equal, value)
}

fn list(values: &[&str]) -> Operation {
    Operation::In(values.iter().copied().map(str::to_owned).collect())
}

fn check(text: &str, expected: Operation) {
    assert_eq!(condition(text), (false, expected.clone()), "{text}");
    assert_eq!(
        condition(&format!("not.{text}")),
        (true, expected),
        "not.{text}"
    );
}

#[test]
fn every_operator_is_known() {
    for (text, operator) in [
        ("neq", SimpleOperator::NotEqual),
        ("cs", SimpleOperator::Contains),
        ("cd", SimpleOperator::ContainedIn),
        ("ov", SimpleOperator::Overlaps),
        ("sl", SimpleOperator::StrictlyLeft),
        ("sr", SimpleOperator::StrictlyRight),
        ("nxr", SimpleOperator::NotExtendsRight),
        ("nxl", SimpleOperator::NotExtendsLeft),
        ("adj", SimpleOperator::Adjacent),
    ] {
        check(
            &format!("{text}.x"),
            Operation::Simple(operator, "x".to_owned()),
        );
    }
    for (text, operator) in [
        ("eq", QuantOperator::Equal),
        ("gte", QuantOperator::GreaterThanEqual),
        ("gt", QuantOperator::GreaterThan),
        ("lte", QuantOperator::LessThanEqual),
        ("lt", QuantOperator::LessThan),
        ("like", QuantOperator::Like),
        ("ilike", QuantOperator::ILike),
        ("match", QuantOperator::Match),
        ("imatch", QuantOperator::IMatch),
    ] {
        check(&format!("{text}.x"), quantified(operator, "x"));
        check(
            &format!("{text}(any).{{x}}"),
            any_or_all(operator, Quantifier::Any, "{x}"),
        );
        check(
            &format!("{text}(all).{{x}}"),
            any_or_all(operator, Quantifier::All, "{x}"),
        );
    }
    check(
        "isdistinct.null",
        Operation::IsDistinctFrom("null".to_owned()),
    );
}

#[test]
fn full_text_operators_may_name_a_language() {
    for (text, operator) in [
        ("fts", FullTextOperator::Plain),
        ("plfts", FullTextOperator::PlainTo),
        ("phfts", FullTextOperator::Phrase),
        ("wfts", FullTextOperator::WebSearch),
    ] {
        for language in [None, Some("english".to_owned())] {
            let shown = language.as_ref().map(|name| format!("({name})"));
            let text = format!("{text}{}.fat cat", shown.unwrap_or_default());
            let value = "fat cat".to_owned();
            check(
                &text,
                Operation::FullText {
                    operator,
                    language,
                    value,
                },
            );
        }
    }
}

#[test]
fn values_that_stand_alone_are_taken_as_they_are() {
    check("eq.", equal(""));
    check("eq.\"x\"", equal("\"x\""));
    check("eq.a,b(c)", equal("a,b(c)"));
    check("eq. x ", equal(" x "));
    check("eq.null", equal("null"));
    check("eq.2.5", equal("2.5"));
    check(
        "cs.{\"a\":1}",
        Operation::Simple(SimpleOperator::Contains, "{\"a\":1}".to_owned()),
    );
}

#[test]
fn is_takes_five_words_in_any_case() {
    check("is.null", Operation::Is(IsValue::Null));
    check("is.NULL", Operation::Is(IsValue::Null));
    check("is.not_null", Operation::Is(IsValue::NotNull));
    check("is.True", Operation::Is(IsValue::True));
    check("is.fAlSe", Operation::Is(IsValue::False));
    check("is.unknown", Operation::Is(IsValue::Unknown));
    check("is.nullable", Operation::Is(IsValue::Null));
}

#[test]
fn lists_know_quotes_around_whole_elements_only() {
    check("in.(1,2,3)", list(&["1", "2", "3"]));
    check("in.()", list(&[""]));
    check("in.( ,3)", list(&["", "3"]));
    check("in.(\"a,b\",c)", list(&["a,b", "c"]));
    check("in.(\"a)\")", list(&["a)"]));
    check(r#"in.("a\"b\\c")"#, list(&[r#"a"b\c"#]));
    check("in.(\"a\"b,\")", list(&["\"a\"b", "\""]));
    check(r"in.(a\,b)", list(&[r"a\", "b"]));
    check("in. ( a b , c ) ", list(&["a b ", " c "]));
    check("in.(1)ignored", list(&["1"]));
}

fn leaf(name: &str, is_negated: bool, operation: Operation) -> LogicTree {
    LogicTree::Filter(crate::request::Filter {
        field: column(name),
        is_negated,
        operation,
    })
}

fn group(is_negated: bool, operator: LogicOperator, children: Vec<LogicTree>) -> LogicTree {
    LogicTree::Group {
        is_negated,
        operator,
        children,
    }
}

fn check_tree(text: &str, expected: LogicTree) {
    assert_eq!(read_ok::<LogicTreeValue>(text), expected, "{text}");
}

#[test]
fn trees_nest() {
    let (one, two) = (leaf("id", false, equal("1")), leaf("id", true, equal("2")));
    let or = |children| group(false, LogicOperator::Or, children);
    let not_and = |children| group(true, LogicOperator::And, children);
    check_tree("or(id.eq.1)", or(vec![one.clone()]));
    check_tree(
        "or(id.eq.1,id.not.eq.2)",
        or(vec![one.clone(), two.clone()]),
    );
    check_tree(
        "or ( id.eq.1 , id.not.eq.2 ) ",
        or(vec![
            leaf("id", false, equal("1 ")),
            leaf("id", true, equal("2 ")),
        ]),
    );
    check_tree(
        "or(not.and(id.eq.1,or(id.not.eq.2)))",
        or(vec![not_and(vec![one.clone(), or(vec![two])])]),
    );
    check_tree("or(id.eq.1))", or(vec![one]));
    check_tree("or(and.eq.1)", or(vec![leaf("and", false, equal("1"))]));
    check_tree("or(limit.eq.1)", or(vec![leaf("limit", false, equal("1"))]));
}

#[test]
fn values_in_trees_end_at_commas_unless_protected() {
    let check = |value: &str, expected: &str| {
        let expected = vec![
            leaf("a", false, equal(expected)),
            leaf("b", false, equal("x")),
        ];
        let text = format!("and(a.eq.{value},b.eq.x)");
        check_tree(&text, group(false, LogicOperator::And, expected));
    };
    check("1", "1");
    check("", "");
    check("\"1,2)\"", "1,2)");
    check(r#""a\"b""#, "a\"b");
    check("\"a\"b", "\"a\"b");
    check("{1,2}", "{1,2}");
    check("{\"a\",\"b)\"}", "{\"a\",\"b)\"}");
    check("2.5", "2.5");
}

#[test]
fn lists_and_languages_work_in_trees() {
    let text = "and(a.in.(1,\"2,3\"),b.fts(english).x,c.is.null)";
    let fts = Operation::FullText {
        operator: FullTextOperator::Plain,
        language: Some("english".to_owned()),
        value: "x".to_owned(),
    };
    let children = vec![
        leaf("a", false, list(&["1", "2,3"])),
        leaf("b", false, fts),
        leaf("c", false, Operation::Is(IsValue::Null)),
    ];
    check_tree(text, group(false, LogicOperator::And, children));
}

#[test]
fn logic_keys_name_an_embed_and_an_operator() {
    let check = |key: &str, embeds: &[&str], operator: &str| {
        let (path, found) = read_ok::<LogicPath>(key);
        assert_eq!(path, embeds, "{key}");
        assert_eq!(found, operator, "{key}");
    };
    check("or", &[], "or");
    check("not.and", &[], "not.and");
    check("a.b.or", &["a", "b"], "or");
    check("a.not.and", &["a"], "not.and");
}

#[test]
fn orders_have_directions_nulls_and_relations() {
    let check = |text: &str, direction, nulls| {
        let term = OrderTerm {
            relation: None,
            field: column("a"),
            direction,
            nulls,
        };
        assert_eq!(read_ok::<Order>(text), vec![term.clone()], "{text}");
        let related = OrderTerm {
            relation: Some("r".to_owned()),
            ..term
        };
        let text = text.replacen('a', "r(a)", 1);
        assert_eq!(read_ok::<Order>(&text), [related], "{text}");
    };
    check("a", None, None);
    check("a.asc", Some(Direction::Ascending), None);
    check("a.desc", Some(Direction::Descending), None);
    check("a.nullsfirst", None, Some(Nulls::First));
    check(
        "a.asc.nullslast",
        Some(Direction::Ascending),
        Some(Nulls::Last),
    );
    check(
        "a.desc.nullsfirst",
        Some(Direction::Descending),
        Some(Nulls::First),
    );
    let names = |text| -> Vec<String> {
        let terms = read_ok::<Order>(text);
        terms.into_iter().map(|term| term.field.name).collect()
    };
    assert_eq!(names("a, b.desc,\"c.d\""), ["a", "b", "c.d"]);
    assert_eq!(names("name,clients(name),id"), ["name", "name", "id"]);
    assert_eq!(read_ok::<Order>("d->>k.desc")[0].field.path.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn quoted_elements_come_back_as_they_were(values in prop::collection::vec(".*", 1..5)) {
        let quoted: Vec<String> = values.iter().map(|value| quote(value)).collect();
        let text = format!("in.({})", quoted.join(","));
        prop_assert_eq!(condition(&text), (false, Operation::In(values)));
    }

    #[test]
    fn quoted_values_in_trees_come_back_as_they_were(value in ".*") {
        let text = format!("or(a.eq.{},b.eq.1)", quote(&value));
        let children = vec![leaf("a", false, equal(&value)), leaf("b", false, equal("1"))];
        prop_assert_eq!(read_ok::<LogicTreeValue>(&text), group(false, LogicOperator::Or, children));
    }
}
