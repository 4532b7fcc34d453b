//! Long and deeply nested texts.

use super::*;

fn details<P: Production>(text: &str) -> Option<String> {
    match read::<P>(text).map(|_| ()) {
        Ok(()) => None,
        Err(RestError::Unparsable { details, .. }) => Some(details),
        Err(other) => panic!("{other:?}"),
    }
}

fn check_depth<P: Production>(text: impl Fn(usize) -> String) {
    assert_eq!(details::<P>(&text(20)), None);
    for depth in [40, 10_000] {
        let details = details::<P>(&text(depth));
        assert_eq!(details.as_deref(), Some("too many levels of nesting"));
    }
}

#[test]
fn embeds_may_be_nested_to_a_limit() {
    check_depth::<Select>(|depth| "a(".repeat(depth) + "b" + &")".repeat(depth));
    check_depth::<Select>(|depth| "...a(".repeat(depth) + &")".repeat(depth));
    assert!(details::<Select>(&"a(".repeat(100_000)).is_some());
}

#[test]
fn groups_may_be_nested_to_a_limit() {
    let close = |depth| ")".repeat(depth);
    check_depth::<LogicTreeValue>(|depth| "and(".repeat(depth) + "a.eq.1" + &close(depth));
    check_depth::<LogicTreeValue>(|depth| "not.or(".repeat(depth) + "a.eq.1" + &close(depth));
}

#[test]
fn lists_may_be_long() {
    let numbers: Vec<String> = (0..10_000).map(|number| number.to_string()).collect();
    let text = format!("in.({})", numbers.join(","));
    let condition = read_ok::<FilterValue>(&text).on(column("id"));
    assert_eq!(condition.operation, Operation::In(numbers));
    // Recording errors has to handle the same length.
    assert!(details::<FilterValue>(text.trim_end_matches(')')).is_some());
}

#[test]
fn selects_may_be_long() {
    let names = vec!["a:some_column::text"; 10_000].join(",");
    assert_eq!(read_ok::<Select>(&names).len(), 10_000);
    assert!(details::<Select>(&(names + ",x!")).is_some());
}
