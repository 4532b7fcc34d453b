use serde_json::json;

use super::*;

#[track_caller]
fn check(path: &str, claims: Value, expected: Option<&str>) {
    let claim = RoleClaim::parse(path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
    let Value::Object(claims) = claims else {
        panic!("claims are an object");
    };
    assert_eq!(claim.find(&claims).as_deref(), expected, "{path}");
}

#[test]
fn both_syntaxes_find_a_role() {
    let claims = || {
        json!({
            "role": "plain",
            "a": { "b": ["zero", "one"], "long-name": "dashed" },
            "https://example.com/roles": [{ "value": "first" }],
        })
    };

    check("$.role", claims(), Some("plain"));
    check("$.a.b[1]", claims(), Some("one"));
    check(".a.b[1]", claims(), Some("one"));
    check("$['a']['long-name']", claims(), Some("dashed"));
    check(".a.\"long-name\"", claims(), Some("dashed"));
    check(
        "$[\"https://example.com/roles\"][0].value",
        claims(),
        Some("first"),
    );
    check(
        ".\"https://example.com/roles\"[0].value",
        claims(),
        Some("first"),
    );
    check("$.a.b[7]", claims(), None);
    check(".a.b[7]", claims(), None);
    check("$.missing", claims(), None);
}

#[test]
fn a_role_that_is_no_text_is_given_as_json() {
    check("$.role", json!({ "role": 7 }), Some("7"));
    check("$.role", json!({ "role": null }), Some("null"));
    check("$.a", json!({ "a": ["x"] }), Some(r#"["x"]"#));
}

#[test]
fn what_is_neither_syntax_is_rejected() {
    for bad in [
        "$.my_role;;domain",
        "@@.role.other",
        "role.other",
        ".role##",
        ".my_role;;domain",
        ".#$$%&$%/",
        "1234",
        ".role[?(@ =)]",
        "",
        "$.",
        "$[",
    ] {
        assert!(RoleClaim::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn the_older_syntax_is_known_as_such() {
    assert!(RoleClaim::parse(".role").expect("legacy").is_legacy());
    assert!(!RoleClaim::parse("$.a").expect("new").is_legacy());
    assert!(RoleClaim::default().is_default());
}

/// Like [`check`], with claims that have something for every kind of selector.
#[track_caller]
fn check_selects(path: &str, expected: Value) {
    let claims = json!({
        "a": { "b": ["x", "y", "z"], "n": [1, 2, 30] },
        "people": [
            { "name": "ada", "age": 36, "role": "admin" },
            { "name": "bob", "age": 7 },
        ],
        "wanted": "bob",
        "it's": "quoted",
    });
    let expected = match expected {
        Value::Null => None,
        other => Some(to_text(&other)),
    };
    check(path, claims, expected.as_deref());
}

#[test]
fn names_indices_slices_and_wildcards_select() {
    check_selects("$.a.b[0]", json!("x"));
    check_selects("$.a.b[-1]", json!("z"));
    check_selects("$.a.b[1:]", json!("y"));
    check_selects("$.a.b[::-1]", json!("z"));
    check_selects("$.a.b[5:1:-2]", json!("z"));
    check_selects("$.a.b[::0]", Value::Null);
    check_selects("$.a.b[ 7 , 1 ]", json!("y"));
    check_selects("$ .a ['b'] [2]", json!("z"));
    check_selects("$.a.*[1]", json!("y"));
    check_selects("$..name", json!("ada"));
    check_selects("$..[2]", json!("z"));
    check_selects("$['it\\'s']", json!("quoted"));
    check_selects("$[\"it's\"]", json!("quoted"));
    check_selects("$.*.b[0]", json!("x"));
}

#[test]
fn filters_compare_and_test() {
    check_selects("$.a.b[?@ == 'y']", json!("y"));
    check_selects("$.a.b[?(@ == \"y\")]", json!("y"));
    check_selects("$.a.b[?(@ != 'x')]", json!("y"));
    check_selects("$.a.n[?@ > 1.5]", json!(2));
    check_selects("$.a.n[?@ >= 30 && @ < 31]", json!(30));
    check_selects("$.a.b[?@ == 'q' || @ == 'z']", json!("z"));
    check_selects("$.people[?@.role].name", json!("ada"));
    check_selects("$.people[?!@.role].name", json!("bob"));
    check_selects("$.people[?!(@.age < 10)].name", json!("ada"));
    check_selects("$.people[?@.name == $.wanted].age", json!(7));
    check_selects("$.people[?@.missing == @.absent].name", json!("ada"));
    check_selects("$.people[?@.age == 36.0].name", json!("ada"));
    check_selects("$.people[?@.name > 'b'].name", json!("bob"));
    check_selects("$[?@ == 'bob']", json!("bob"));
}

#[test]
fn functions_count_and_look_into_texts() {
    check_selects("$.a.b[?search(@, '[yz]')]", json!("y"));
    check_selects("$.people[?match(@.name, 'b.b')].name", json!("bob"));
    check_selects("$.people[?match(@.name, 'b')].name", Value::Null);
    // Anchors, as in the compliance suite and in PostgREST's library.
    check_selects("$.people[?search(@.name, 'b$')].name", json!("bob"));
    check_selects("$.people[?search(@.name, '^b')].name", json!("bob"));
    check_selects("$.people[?!search(@.name, 'a')].name", json!("bob"));
    check_selects("$.people[?search(@.name, $.wanted)].name", json!("bob"));
    check_selects(
        "$.people[?search(@.name, '[') || search(@.age, '7')]",
        Value::Null,
    );
    check_selects("$.people[?length(@) == 2].name", json!("bob"));
    check_selects("$.people[?length(@.name) >= 3].name", json!("ada"));
    check_selects("$.people[?length(@.age) == 1].name", Value::Null);
    check_selects("$[?count(@.*) == 2].n[0]", json!(1));
    check_selects("$.people[?length($) == 4].name", json!("ada"));
    check_selects("$.people[?count($) == 1 && $].name", json!("ada"));
    check_selects("$.people[?value($) == $].name", json!("ada"));
    check_selects("$.people[?!$].name", Value::Null);
    check_selects("$.people[?value(@..role) == 'admin'].name", json!("ada"));
}

#[test]
fn malformed_paths_are_rejected() {
    for bad in [
        "a",
        "$.",
        "$..",
        "$.1a",
        "$[",
        "$[]",
        "$[01]",
        "$[-0]",
        "$['a",
        "$.a;",
        "$.a ",
        "$[?]",
        "$[?@ = 1]",
        "$[?1]",
        "$[?@.* == 1]",
        "$[9007199254740992]",
        "$.[0]",
        "$",
        "$['\\x']",
        "$[?search(@)]",
        "$[?search(@, 'x') == true]",
        "$[?search(@.*, 'x')]",
        "$[?length(@)]",
        "$[?length(@.*) == 1]",
        "$[?count(1) == 1]",
        "$[?starts_with(@, 'x')]",
        "$[?!length(@)]",
    ] {
        assert!(RoleClaim::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn deeply_nested_paths_are_rejected_before_they_are_parsed() {
    for (open, close) in [("(", ")"), ("length(", ")"), ("length(@[')'],", ")")] {
        let deep = format!("$[?{}@{} == 1]", open.repeat(100), close.repeat(100));
        let error = RoleClaim::parse(&deep).expect_err("too deep");
        assert_eq!(error, "more than 8 levels of parentheses");
    }
    let brackets = format!("$[?{}@{}]", "@[?".repeat(1000), "]".repeat(1000));
    assert!(RoleClaim::parse(&brackets).is_err());

    let quoted = format!("$['{}']", "(".repeat(100));
    assert!(RoleClaim::parse(&quoted).is_ok());
    let sequence = vec!["(@ == 1)"; 100].join(" || ");
    assert!(RoleClaim::parse(&format!("$[?{sequence}]")).is_ok());
}
