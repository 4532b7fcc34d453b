use proptest::prelude::*;
use serde_json::{Value, json};

use super::Template;

fn data() -> Value {
    json!({
        "Email": "ann@mail.dev",
        "Token": "123456",
        "SiteURL": "https://site.test",
        "ConfirmationURL": "https://api.test/auth/v1/verify?token=abc&type=signup",
        "RedirectTo": "https://site.test/welcome?a=1&b=2",
        "Data": {
            "name": "Ann <b>O'Neil</b>",
            "nested": { "deep": "down" },
            "tags": ["a", "b"],
            "count": 3,
            "ratio": 2.5,
            "evil": "javascript:alert(1)",
            "none": null,
        },
    })
}

#[track_caller]
fn html(template: &str, expected: &str) {
    let template = Template::parse(template).expect("a good template");
    assert_eq!(template.render_html(&data()).expect("rendered"), expected);
}

#[track_caller]
fn text(template: &str, expected: &str) {
    let template = Template::parse(template).expect("a good template");
    assert_eq!(template.render_text(&data()).expect("rendered"), expected);
}

#[track_caller]
fn is_rejected(template: &str, line: usize) {
    let error = Template::parse(template).expect_err(template);
    assert_eq!(error.line, line, "{error}");
    assert!(!error.reason.is_empty());
}

#[test]
fn fields_are_put_in() {
    text("{{ .Token }} is your code", "123456 is your code");
    text("{{.Token}}", "123456");
    text("{{ .Data.nested.deep }}{{ $.Email }}", "downann@mail.dev");
    text("{{ .Data.missing }}{{ .Data.none }}{{ .Data.a.b.c }}.", ".");
    text(
        "{{ .Data.count }} {{ .Data.ratio }} {{ .Data.tags }}",
        "3 2.5 [a b]",
    );
    text("{ .Token } }}", "{ .Token } }}");
}

#[test]
fn conditions_choose() {
    text("{{ if .Token }}yes{{ else }}no{{ end }}", "yes");
    text("{{if .Data.none}}yes{{else}}no{{end}}", "no");
    text(
        r#"{{ if eq .Data.count 1 }}one{{ else if eq .Data.count 2 3 }}few{{ else }}many{{ end }}"#,
        "few",
    );
    text(r#"{{ if and .Token (ne .Email "x") }}a{{ end }}"#, "a");
    text(
        r#"{{ if or .Data.none (not .Token) }}a{{ else }}b{{ end }}"#,
        "b",
    );
    text("{{ if gt .Data.count 2 }}more{{ end }}", "more");
    text("{{ with .Data.nested }}{{ .deep }}{{ end }}", "down");
    text(
        "{{ with .Data.none }}x{{ else with .Data.nested }}{{ .deep }}{{ end }}",
        "down",
    );
}

#[test]
fn loops_go_over_lists_and_objects() {
    text("{{ range .Data.tags }}<{{ . }}>{{ end }}", "<a><b>");
    text(
        "{{ range $i, $tag := .Data.tags }}{{ $i }}={{ $tag }};{{ end }}",
        "0=a;1=b;",
    );
    text(
        "{{ range $k, $v := .Data.nested }}{{ $k }}:{{ $v }}{{ end }}",
        "deep:down",
    );
    text(
        "{{ range .Data.none }}x{{ else }}nothing{{ end }}",
        "nothing",
    );
}

#[test]
fn pipelines_and_functions_work_as_in_go() {
    text(r#"{{ .Token | printf "%s-%s" "a" }}"#, "a-123456");
    text(r#"{{ .Email | urlquery }}"#, "ann%40mail.dev");
    text(r#"{{ "<" | html }}"#, "&lt;");
    text(
        "{{ len .Data.tags }}{{ index .Data.tags 1 }}{{ index .Data \"count\" }}",
        "2b3",
    );
    text(
        "{{ (index .Data.tags 0) | print }}{{ (print \"x\") }}",
        "ax",
    );
    text(
        "{{ $x := .Token }}{{ $x }}{{ $x = \"new\" }}{{ $x }}",
        "123456new",
    );
    text(
        "{{ print 1 `raw \\n` \"q\\\"\\u00e9\" true nil }}",
        "1raw \\nq\"étrue",
    );
}

#[test]
fn comments_vanish_and_dashes_trim() {
    text("a{{/* a comment with }} in it */}}b", "ab");
    text("a \n {{- .Token -}} \n b", "a123456b");
    text("a {{- /* x */ -}} b", "ab");
    text("{{ if .Token -}}\n  yes\n{{- end }}", "yes");
}

#[test]
fn values_are_escaped_for_the_place_they_stand_in() {
    html(
        "<p>{{ .Data.name }}</p>",
        "<p>Ann &lt;b&gt;O&#39;Neil&lt;/b&gt;</p>",
    );
    html(
        "<p title=\"{{ .Data.name }}\">",
        "<p title=\"Ann &lt;b&gt;O&#39;Neil&lt;/b&gt;\">",
    );
    html(
        "<p title={{ .Data.name }}>",
        "<p title=Ann&#32;&#60;b&#62;O&#39;Neil&#60;/b&#62;>",
    );
    html("<p {{ .Data.name }}>", "<p ZgotmplZ>");
    html(
        "<p {{ `OnClick` }}='x' {{ `Dir` }}>",
        "<p ZgotmplZ='x' dir>",
    );
    html("<{{ `script` }}>", "<ZgotmplZ>");
    html("<<a href='{{ .Data.evil }}'>", "<<a href='#ZgotmplZ'>");
    html(
        "<title>{{ .Data.name }}</title>{{ .Token }}",
        "<title>Ann &lt;b&gt;O&#39;Neil&lt;/b&gt;</title>123456",
    );
    html("<!-- {{ .Data.name }} -->{{ .Token }}", "<!--  -->123456");
    html(
        "<p style=\"color: {{ .Data.name }}\">",
        "<p style=\"color: ZgotmplZ\">",
    );
    html(
        "<p style=\"color: {{ .Token }}\">",
        "<p style=\"color: 123456\">",
    );
    html(
        "<b onclick=\"f('{{ .Data.name }}')\">",
        "<b onclick=\"f('Ann \\u003Cb\\u003EO\\u0027Neil\\u003C\\u002Fb\\u003E')\">",
    );
    html(
        "<script>f(\"{{ .Data.name }}\")</script>{{ .Data.name | html }}",
        "<script>f(\"Ann \\u003Cb\\u003EO\\u0027Neil\\u003C\\u002Fb\\u003E\")</script>Ann &lt;b&gt;O&#39;Neil&lt;/b&gt;",
    );
    html(
        "1 < 2 <3 {{ .Data.name }}",
        "1 < 2 <3 Ann &lt;b&gt;O&#39;Neil&lt;/b&gt;",
    );
}

#[test]
fn links_stay_links() {
    html(
        "<a href=\"{{ .ConfirmationURL }}\">x</a>",
        "<a href=\"https://api.test/auth/v1/verify?token=abc&amp;type=signup\">x</a>",
    );
    html(
        "<a href='{{ .SiteURL }}/confirm?next={{ .RedirectTo }}&t={{ .Token }}'>",
        "<a href='https://site.test/confirm?next=https%3a%2f%2fsite.test%2fwelcome%3fa%3d1%26b%3d2&t=123456'>",
    );
    html(
        "<a href=\"/x?m={{ .Email | urlquery }}\">",
        "<a href=\"/x?m=ann%40mail.dev\">",
    );
    html("<a href=\"{{ .Data.evil }}\">", "<a href=\"#ZgotmplZ\">");
    html("<a href={{ .Data.evil }}>", "<a href=#ZgotmplZ>");
    html(
        "<a class \n HREF\n = '{{ .Data.evil }}' title = \"{{ .Data.evil }}\">",
        "<a class \n HREF\n = '#ZgotmplZ' title = \"javascript:alert(1)\">",
    );
    html(
        "<img src=\"/a/{{ .Data.evil }}\">",
        "<img src=\"/a/javascript:alert%281%29\">",
    );
}

#[test]
fn invalid_templates_are_rejected_with_their_line() {
    is_rejected("a\nb {{ .Token", 2);
    is_rejected("{{ if .Token }}", 1);
    is_rejected("\n\n{{ end }}", 3);
    is_rejected("{{ else }}", 1);
    is_rejected("{{ if .A }}{{ else }}{{ else }}{{ end }}", 1);
    is_rejected("{{ nosuch .Token }}", 1);
    is_rejected("{{ define \"x\" }}{{ end }}", 1);
    is_rejected("{{ \"open }}", 1);
    is_rejected("{{ .Token .Email }}", 1);
    is_rejected("{{ }}", 1);
    is_rejected(
        &format!("{{{{ {}1{} }}}}", "(".repeat(99), ")".repeat(99)),
        1,
    );
    is_rejected(&"{{ if .A }}".repeat(1000), 1);
}

#[test]
fn what_cannot_be_filled_in_is_an_error_and_no_mail() {
    let fails = |text: &str| {
        let template = Template::parse(text).expect("a good template");
        template.render_html(&data()).expect_err(text);
    };
    fails("{{ $unknown }}");
    fails("{{ .Token | .Email }}");
    fails("{{ eq 1 }}");
    fails("{{ len true }}");
}

/// Pieces of which nearly every sequence is almost a template.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{",
        "}}",
        "{{-",
        "-}}",
        " ",
        ".",
        ".Data",
        "$",
        "$x",
        ":=",
        "=",
        "|",
        "(",
        ")",
        "if",
        "else",
        "end",
        "range",
        "with",
        "eq",
        "\"",
        "`",
        "/*",
        "*/",
        "1",
        "-",
        "<a href=",
        "'",
        "<",
        ">",
        "&",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "\n",
        "é",
        "\\",
        "print",
        ",",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        if let Ok(template) = Template::parse(&text) {
            _ = template.render_html(&data());
        }
    }

    #[test]
    fn no_near_template_makes_it_panic(text in pieces()) {
        if let Ok(template) = Template::parse(&text) {
            _ = template.render_html(&data());
            _ = template.render_text(&data());
        }
    }

    #[test]
    fn no_value_brings_markup_of_its_own(value in any::<String>()) {
        let template = Template::parse("<a href=\"{{ .v }}\" title='{{ .v }}'>{{ .v }}</a>")
            .expect("a good template");
        let rendered = template.render_html(&json!({ "v": value })).expect("rendered");
        prop_assert_eq!(rendered.matches('<').count(), 2);
        prop_assert_eq!(rendered.matches('>').count(), 2);
        prop_assert_eq!(rendered.matches('"').count(), 2);
        prop_assert_eq!(rendered.matches('\'').count(), 2);
    }
}
