//! SQL injection: text of clients is only ever in parameters and quoted identifiers.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

/// Text that would change a statement if it were not quoted.
fn hostile() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\"",
        "\"\"",
        "'",
        "''",
        ";",
        "--",
        "/*",
        "*/",
        "$1",
        "$9",
        "$$",
        "\\",
        "\\\"",
        ")",
        "(",
        ",",
        "::",
        "drop table films",
        " or true",
        "\0",
        "\n",
        "E'",
        "U&\"",
        "}",
        "{",
        "*",
        "%",
    ]);
    let piece = prop_oneof![pieces.prop_map(str::to_owned), ".{0,4}"];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Percent-encoded for a query string.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        _ = write!(encoded, "%{byte:02X}");
    }
    encoded
}

/// A name or value in the grammar's own quotes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    encoded(&format!("\"{escaped}\""))
}

/// A statement with all quoted identifiers replaced by the same one.
fn skeleton(text: &str) -> String {
    let mut skeleton = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        skeleton.push(c);
        if c != '"' {
            continue;
        }
        while let Some(c) = rest.next() {
            let is_doubled = c == '"' && rest.next_if_eq(&'"').is_some();
            if c == '"' && !is_doubled {
                skeleton.push('"');
                break;
            }
        }
    }
    skeleton
}

/// The numbers of parameters, in order.
fn places(skeleton: &str) -> Vec<usize> {
    let after_dollars = skeleton.split('$').skip(1);
    after_dollars
        .filter_map(|text| {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse().ok()
        })
        .collect()
}

fn check(request: impl Fn(&str) -> String, hostile: &str) {
    let (harmless, _) = statement(&request("x"));
    let (text, values) = statement(&request(hostile));
    let skeleton = skeleton(&text);

    assert_eq!(skeleton, self::skeleton(&harmless));
    assert_eq!(places(&skeleton), (1..=values.len()).collect::<Vec<_>>());
    assert!(!text.contains('\0'));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn in_a_read(text in hostile()) {
        check(
            |text| {
                let (value, element) = (encoded(text), quoted(text));
                let name = quoted(&format!("c{text}"));
                format!(
                    "GET /films?select={name}:title,{name},a{name}:info->{element},\
                     d{name}:directors({name},...films({name}))\
                     &{name}=eq.{value}&title=in.({element},{element})&info->>{element}=like.{value}\
                     &tags=cs.{value}&plot=wfts.{value}&year=isdistinct.{value}\
                     &and=({name}.eq.{element},not.or(year.in.({element},1),{name}.not.gt.{element}))\
                     &order={name}.desc,info->{element}"
                ).replace(&format!("a{name}"), &quoted(&format!("a{text}")))
                .replace(&format!("d{name}"), &quoted(&format!("d{text}")))
            },
            &text,
        );
    }

    #[test]
    fn in_a_mutation(text in hostile()) {
        check(
            |text| {
                let body = serde_json::json!({ "title": text });
                let name = quoted(&format!("c{text}"));
                format!(
                    "POST /films?select={name},title&on_conflict={name},id\
                     \nprefer: return=representation, resolution=merge-duplicates\n\n{body}"
                )
            },
            &text,
        );
        check(
            |text| {
                let body = serde_json::json!([{ "title": text }]);
                let (value, name) = (encoded(text), quoted(&format!("c{text}")));
                format!("PATCH /films?{name}=neq.{value}&or=({name}.is.null,id.eq.1)\n\n{body}")
            },
            &text,
        );
        check(|text| format!("PUT /films?id=eq.{}\n\n{{\"id\":1}}", encoded(text)), &text);
        check(|text| format!("DELETE /films?id=lt.{}", encoded(text)), &text);
    }

    #[test]
    fn in_a_call(text in hostile()) {
        check(
            |text| {
                let (value, name) = (encoded(&format!("v{text}")), quoted(&format!("c{text}")));
                format!("GET /rpc/films_by?director={value}&select=id,{name}&{name}=eq.{value}")
            },
            &text,
        );
        check(
            |text| {
                let value = encoded(&format!("v{text}"));
                format!("GET /rpc/total?numbers={value}&numbers={value}")
            },
            &text,
        );
        check(
            |text| {
                let body = serde_json::json!({ "a": text, "b": text });
                format!("POST /rpc/add\n\n{body}")
            },
            &text,
        );
        check(
            |text| format!("POST /rpc/shout\ncontent-type: text/plain\n\n{text}"),
            &text,
        );
    }

    /// Casts are the only unquoted text of clients; anything but the name of a type is rejected.
    #[test]
    fn in_a_cast(text in hostile()) {
        // A comma ends the item: what comes after it is another column.
        let text = text.replace(',', ".");
        let request = format!("GET /films?select=title::{}", encoded(&text));
        CINEMA.statements(&request, |statements| {
            let Ok(statements) = statements else {
                return;
            };
            let text = statements.main.text();
            let cast = between(text, r#"cast("api"."films"."title" as "#, r#") from "api"."films""#);
            let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | ' ');
            assert!(cast.chars().all(is_name), "{text}");
        });
    }
}

#[test]
fn the_skeleton_shows_what_is_not_quoted() {
    assert_eq!(
        skeleton(r#"select "a""b;", 'x' from "t""#),
        r#"select "", 'x' from """#
    );
    assert_eq!(places("a = $1 and b = any($2::int[])"), [1, 2]);
}
