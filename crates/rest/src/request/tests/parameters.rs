//! The query string as a whole.

use super::*;
use crate::request::range::RowRange;

fn query(query: &'static str) -> QueryParams {
    parse(&Request { query, ..GET }).expect("a request").query
}

#[test]
fn keys_are_sorted_by_their_last_word() {
    let params = query(
        "select=id&id=eq.1&rel.id=gt.2&order=a&rel.order=b&or=(a.eq.1)&rel.not.and=(b.eq.2)\
         &rel.limit=5&rel.offset=2&x.limit=1&ignored&select=other&limit.x=eq.1&a.select=eq.1",
    );
    let paths =
        |paths: Vec<&EmbedPath>| paths.iter().map(|path| path.join(".")).collect::<Vec<_>>();
    assert_eq!(
        paths(params.filters.iter().map(|(path, _)| path).collect()),
        ["", "rel", "limit", "a"]
    );
    assert_eq!(
        paths(params.order.iter().map(|(path, _)| path).collect()),
        ["", "rel"]
    );
    assert_eq!(
        paths(params.logic.iter().map(|(path, _)| path).collect()),
        ["", "rel"]
    );
    let range = |offset, limit| RowRange {
        offset,
        limit: Some(limit),
    };
    let ranges = [
        (vec!["rel".to_owned()], range(2, 5)),
        (vec!["x".to_owned()], range(0, 1)),
    ];
    assert_eq!(params.ranges, ranges);
    assert_eq!(
        params.select,
        [SelectItem::Field(SelectField::column("id"))]
    );
}

#[test]
fn repeated_parameters_count_first_last_or_all() {
    let params = query(
        "order=a&order=b&id=gt.1&id=lt.5&or=(a.eq.1)&or=(a.eq.2)&columns=a&columns=b&on_conflict=c&on_conflict=d",
    );
    assert_eq!(params.order.len(), 1);
    assert_eq!(params.order[0].1[0].field.name, "a");
    assert_eq!(params.filters.len(), 2);
    assert_eq!(params.logic.len(), 2);
    assert_eq!(
        params
            .columns
            .expect("columns")
            .into_iter()
            .collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!(params.on_conflict.expect("columns"), ["c"]);
    let range = parse(&Request {
        query: "limit=1&offset=1&limit=2&offset=3",
        ..GET
    });
    let expected = RowRange {
        offset: 3,
        limit: Some(2),
    };
    assert_eq!(range.expect("a request").root_range, expected);
}

#[test]
fn no_select_is_all_columns() {
    for text in ["", "select=", "select", "select&select=id"] {
        assert_eq!(
            query(text).select,
            [SelectItem::Field(SelectField::all())],
            "{text}"
        );
    }
}

#[test]
fn values_are_decoded_before_they_are_read() {
    let filter = &query("name=eq.a+b%2Bc").filters[0].1;
    assert!(matches!(&filter.operation, Operation::Quantified { value, .. } if value == "a b+c"));
    let filter = &query("name=like.%plan%").filters[0].1;
    assert!(matches!(&filter.operation, Operation::Quantified { value, .. } if value == "%plan%"));
    let params = query("columns=%22a%22%2C%22b%22&select=%22x%20y%22");
    assert_eq!(params.columns.expect("columns").len(), 2);
    assert_eq!(
        code(parse(&Request {
            query: "a=eq.%ff",
            ..GET
        })),
        "PGRST100"
    );
    assert_eq!(
        code(parse(&Request {
            query: "%ff=eq.1",
            ..GET
        })),
        "PGRST100"
    );
}

#[test]
fn functions_take_arguments_from_the_query_of_reads() {
    let call = |method, query| {
        let request = Request {
            method,
            path: "/rpc/f",
            query,
            ..GET
        };
        parse(&request).map(|request| request.query)
    };
    let params =
        call(Method::GET, "id=5&id=gt.2&name=x&select=id&limit=1&v=1&v=2").expect("a call");
    let arguments = [("id", "5"), ("name", "x"), ("v", "1"), ("v", "2")];
    let arguments = arguments.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(params.arguments, arguments);
    assert_eq!(params.filters.len(), 1);
    assert!(call(Method::HEAD, "id=5").is_ok());
    assert!(call(Method::GET, "id=in.5").is_err());
    assert!(call(Method::POST, "id=5").is_err());
    assert!(call(Method::POST, "id=eq.5").is_ok());
}

#[test]
fn wrong_parameters_are_reported_in_a_fixed_order() {
    let check = |query, expected: &str| {
        let error = parse(&Request { query, ..GET })
            .expect_err("rejected")
            .to_string();
        assert!(
            error.contains(&format!("failed to parse {expected} ")),
            "{query}: {error}"
        );
    };
    check("on_conflict=&id=0&select=a!&columns=&or=()&order=", "order");
    check("on_conflict=&id=0&select=a!&columns=&or=()", "logic tree");
    check("on_conflict=&id=0&select=a!&columns=", "columns parameter");
    check("on_conflict=&id=0&select=a!", "select parameter");
    check("on_conflict=&id=0", "filter");
    check("on_conflict=", "on_conflict parameter");
    check("..=eq.1", "tree path");
    check("..or=()", "logic path");
    check("a..limit=1", "tree path");
}

#[test]
fn the_canonical_query_is_for_reads_of_relations() {
    assert_eq!(query("b=eq.1&a=eq.1").canonical, "a=eq.1&b=eq.1");
    let deleted = Request {
        method: Method::DELETE,
        query: "a=eq.1",
        ..GET
    };
    assert_eq!(parse(&deleted).expect("a request").query.canonical, "");
}

#[test]
fn spaces_around_logic_are_not_part_of_it() {
    let text = "and=( and ( id.in.( 1, 2, 3 ) , id.eq.3 ) , or ( id.eq.2 , id.eq.3 ) )&select=id";
    assert_eq!(query(text).logic.len(), 1);
}
