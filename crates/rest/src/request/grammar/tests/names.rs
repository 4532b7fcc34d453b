//! Names, quotes, json paths and lists of names.

use proptest::prelude::*;

use super::*;

fn path(key: &str) -> (EmbedPath, Field) {
    read_ok::<TreePath>(key)
}

fn key(is_text: bool, key: &str) -> JsonStep {
    let operand = JsonOperand::Key(key.to_owned());
    JsonStep { is_text, operand }
}

fn index(is_text: bool, index: &str) -> JsonStep {
    let operand = JsonOperand::Index(index.to_owned());
    JsonStep { is_text, operand }
}

#[test]
fn names_may_hold_much_without_quotes() {
    let check = |text: &str, name: &str| assert_eq!(path(text).1, column(name), "{text}");
    check("identifier", "identifier");
    check("identifier with spaces", "identifier with spaces");
    check("identifier-with-dashes", "identifier-with-dashes");
    check(
        " no leading or trailing spaces ",
        "no leading or trailing spaces",
    );
    check("a - b", "a-b");
    check("123", "123");
    check("_", "_");
    check("$", "$");
    check("Unicode_ñ_名前", "Unicode_ñ_名前");
    check("\":\"", ":");
    check(
        "\" leading and trailing spaces \"",
        " leading and trailing spaces ",
    );
    check(r#""a\"b\\c\d""#, r#"a"b\cd"#);
    check("\"\"", "");
    // What follows a name is ignored.
    check("a(b", "a");
    check("\"a\"b", "a");
}

#[test]
fn paths_lead_through_embeds() {
    let check = |text: &str, embeds: &[&str], name: &str| {
        let (path, field) = path(text);
        assert_eq!(path, embeds, "{text}");
        assert_eq!(field, column(name), "{text}");
    };
    check("id", &[], "id");
    check("a.id", &["a"], "id");
    check("a.b.c", &["a", "b"], "c");
    check("\"a.b\".c", &["a.b"], "c");
}

#[test]
fn json_paths_have_keys_and_indexes() {
    let check = |text: &str, steps: &[JsonStep]| assert_eq!(path(text).1.path, steps, "{text}");
    check("d->text", &[key(false, "text")]);
    check("d->>text", &[key(true, "text")]);
    check("d->!@#$%^&*_a", &[key(false, "!@#$%^&*_a")]);
    check("d->1", &[index(false, "1")]);
    check("d->>-12", &[index(true, "-12")]);
    check(
        "d->a->0->>b",
        &[key(false, "a"), index(false, "0"), key(true, "b")],
    );
    check("d->0xy", &[key(false, "0xy")]);
    check("d->a-b->c", &[key(false, "a-b"), key(false, "c")]);
    check("d->\"a.b\"->>\"->\"", &[key(false, "a.b"), key(true, "->")]);
    check("d-> a b ", &[key(false, "a b")]);
    check("a.d->0", &[index(false, "0")]);
}

#[test]
fn lists_of_names_may_be_quoted_and_end_where_they_make_no_more_sense() {
    let check = |text: &str, names: &[&str]| {
        assert_eq!(read_ok::<OnConflict>(text), names, "{text}");
        let sorted = read_ok::<Columns>(text);
        assert_eq!(sorted, names.iter().copied().map(str::to_owned).collect());
    };
    check("a", &["a"]);
    check("\"b\",\"a, c\"", &["b", "a, c"]);
    check("a , b", &["a", "b"]);
    check("a(b", &["a"]);
}

/// In quotes, with backslashes where they are needed.
pub(super) fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn quoted_names_come_back_as_they_were(name in ".*", embed in ".*") {
        let text = format!("{}.{}->{}", quote(&embed), quote(&name), quote(&name));
        let (path, field) = path(&text);
        prop_assert_eq!(path, [embed]);
        prop_assert_eq!(&field.name, &name);
        prop_assert_eq!(field.path, [key(false, &name)]);
    }
}
