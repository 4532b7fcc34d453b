//! What `select` may hold.

use super::*;

fn field(name: &str) -> SelectField {
    SelectField::column(name)
}

fn embed(relation: &str, items: Vec<SelectItem>) -> SelectEmbed {
    SelectEmbed {
        relation: relation.to_owned(),
        alias: None,
        hint: None,
        join: None,
        is_spread: false,
        items,
    }
}

fn aggregate(function: AggregateFunction, cast: Option<&str>) -> Option<Aggregate> {
    let cast = cast.map(str::to_owned);
    Some(Aggregate { function, cast })
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn check_all(text: &str, expected: Vec<SelectItem>) {
    assert_eq!(read_ok::<Select>(text), expected, "{text}");
}

fn check_field(text: &str, expected: SelectField) {
    check_all(text, vec![SelectItem::Field(expected.clone())]);
    // The same in a list, which takes another path through the grammar.
    let others = SelectItem::Field(field("x"));
    let expected = SelectItem::Field(expected);
    check_all(
        &format!("x,{text},x"),
        vec![others.clone(), expected.clone(), others],
    );
    check_all(
        &format!("rel({text})"),
        vec![SelectItem::Embed(embed("rel", vec![expected]))],
    );
}

fn check_embed(text: &str, expected: SelectEmbed) {
    check_all(text, vec![SelectItem::Embed(expected)]);
}

#[test]
fn columns_have_aliases_casts_and_json_paths() {
    check_field("id", field("id"));
    check_field("*", SelectField::all());
    check_field(" id ", field("id"));
    check_field("\"a,b\"", field("a,b"));
    check_field("count", field("count"));
    check_field(
        "a:id",
        SelectField {
            alias: some("a"),
            ..field("id")
        },
    );
    check_field(
        "id::text",
        SelectField {
            cast: some("text"),
            ..field("id")
        },
    );
    check_field(
        "id::double precision",
        SelectField {
            cast: some("double precision"),
            ..field("id")
        },
    );
    let path = vec![
        JsonStep {
            is_text: false,
            operand: JsonOperand::Key("b".to_owned()),
        },
        JsonStep {
            is_text: true,
            operand: JsonOperand::Index("0".to_owned()),
        },
    ];
    let json = SelectField {
        field: Field {
            name: "d".to_owned(),
            path,
        },
        alias: some("a"),
        cast: some("int"),
        aggregate: None,
    };
    check_field("a:d->b->>0::int", json.clone());
    check_field("a:d->b->>0", SelectField { cast: None, ..json });
}

#[test]
fn aggregates_have_casts_before_and_behind() {
    for (name, function) in [
        ("sum", AggregateFunction::Sum),
        ("avg", AggregateFunction::Avg),
        ("count", AggregateFunction::Count),
        ("max", AggregateFunction::Max),
        ("min", AggregateFunction::Min),
    ] {
        let text = format!("id.{name}()");
        check_field(
            &text,
            SelectField {
                aggregate: aggregate(function, None),
                ..field("id")
            },
        );
    }
    let sum = SelectField {
        alias: some("a"),
        cast: some("num"),
        aggregate: aggregate(AggregateFunction::Sum, Some("text")),
        ..field("id")
    };
    check_field("a:id::num.sum()::text", sum);
    let count = SelectField {
        aggregate: aggregate(AggregateFunction::Count, None),
        ..SelectField::all()
    };
    check_field("count()", count.clone());
    let cast = aggregate(AggregateFunction::Count, Some("int"));
    check_field(
        "n:count()::int",
        SelectField {
            alias: some("n"),
            aggregate: cast,
            ..count
        },
    );
}

#[test]
fn embeds_have_aliases_hints_and_join_kinds() {
    let rel = || embed("rel", vec![SelectItem::Field(SelectField::all())]);
    let (inner, left) = (Some(JoinKind::Inner), Some(JoinKind::Left));
    check_embed("rel(*)", rel());
    check_embed("rel()", embed("rel", vec![]));
    check_embed(
        "alias:rel(*)",
        SelectEmbed {
            alias: some("alias"),
            ..rel()
        },
    );
    check_embed(
        "rel!hint(*)",
        SelectEmbed {
            hint: some("hint"),
            ..rel()
        },
    );
    check_embed(
        "rel!inner(*)",
        SelectEmbed {
            join: inner,
            ..rel()
        },
    );
    check_embed(
        "rel!left(*)",
        SelectEmbed {
            join: left,
            ..rel()
        },
    );
    let both = SelectEmbed {
        hint: some("hint"),
        join: inner,
        ..rel()
    };
    check_embed("rel!hint!inner(*)", both.clone());
    check_embed("rel!inner!hint(*)", both.clone());
    check_embed(
        "a:rel!inner!hint(*)",
        SelectEmbed {
            alias: some("a"),
            ..both.clone()
        },
    );
    check_embed(
        "...rel!hint!inner(*)",
        SelectEmbed {
            is_spread: true,
            ..both
        },
    );
    check_embed(
        "rel!left_fk(*)",
        SelectEmbed {
            hint: some("left_fk"),
            ..rel()
        },
    );
    check_embed(
        "rel!inner-fk!left(*)",
        SelectEmbed {
            hint: some("inner-fk"),
            join: left,
            ..rel()
        },
    );
    check_embed(
        "\"r el\"(*)",
        SelectEmbed {
            relation: "r el".to_owned(),
            ..rel()
        },
    );
    check_embed(
        "...rel()",
        SelectEmbed {
            is_spread: true,
            ..embed("rel", vec![])
        },
    );
}

#[test]
fn items_stand_side_by_side_and_within_each_other() {
    let star = || SelectItem::Field(SelectField::all());
    let nested = SelectItem::Embed(embed("nested", vec![star()]));
    let client = SelectItem::Embed(embed("client", vec![star(), nested]));
    check_all("*,client(*,nested(*))", vec![star(), client.clone()]);
    check_all("*, client( *, nested( *)), *", vec![star(), client, star()]);
    check_all("", vec![]);
    check_all("id)ignored", vec![SelectItem::Field(field("id"))]);
    // An invalid first item makes the list empty.
    check_all("*!hint", vec![]);
    check_all("!", vec![]);
}

#[test]
fn what_is_strict_about_its_end_is_rejected() {
    for text in [
        "name!hint",
        "id,*!hint",
        "id::numeric(10,2)",
        "id::int[]",
        "a:...rel(*)",
        "rel(*",
        "id.sum",
        "count()x",
        "rel->x(*)",
    ] {
        assert!(read::<Select>(text).is_err(), "{text}");
    }
}
