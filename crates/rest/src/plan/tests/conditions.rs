//! Filters, orders and ranges, each at its level.

use super::*;

#[test]
fn everything_acts_where_its_path_leads() {
    check(
        "GET /directors?select=name,films(title,roles(character))&name=eq.a&films.title=eq.b\
         &films.roles.character=eq.c&films.or=(year.eq.1,year.eq.2)&order=name&films.order=year.desc\
         &films.roles.limit=3&films.offset=2&limit=5&offset=6",
        &[
            "directors: name",
            "  where name",
            "  order name",
            "  limit 5",
            "  offset 6",
            "  films = array of directors_films_1",
            "    films as films_1: title",
            "      where title, or(year, year)",
            "      order year desc",
            "      offset 2",
            "      roles = array of films_roles_2",
            "        roles as roles_2: character",
            "          where character",
            "          limit 3",
        ],
    );
}

#[test]
fn groups_nest_and_are_negated() {
    check(
        "GET /films?not.or=(id.eq.1,not.and(id.not.eq.2,year.eq.3))&id=not.eq.4",
        &[
            "films: *",
            "  where not id, not or(id, not and(not id, year))",
        ],
    );
}

#[test]
fn whether_an_embed_has_a_row_can_be_tested() {
    let beside = |filter: &str| format!("GET /films?select=d:directors(name),roles()&{filter}");
    let check = |filter: &str, expected: &str| {
        super::check(
            &beside(filter),
            &[
                "films",
                &format!("  where {expected}"),
                "  d = object of films_d_1",
                "    directors as directors_1: name",
                "  roles = hidden of films_roles_1",
                "    roles as roles_1",
            ],
        );
    };

    check("d=is.null", "no films_d_1");
    check("d=not.is.null", "not no films_d_1");
    check(
        "or=(d.not.is.null,roles.is.null)",
        "or(not no films_d_1, no films_roles_1)",
    );
    // Otherwise it is a column of that name.
    check("directors=is.null", "directors");
    check("d=is.not_null", "d");
    check("d=eq.1", "d");
    check("d->x=is.null", "to_jsonb(d)->x");
}

#[test]
fn what_is_no_tsvector_becomes_one_to_be_searched() {
    check(
        "GET /films?title=fts.x&plot=fts.x&summary=plfts.x&info->>a=wfts(german).x&unknown=phfts.x&title=eq.x",
        &[
            "films: *",
            "  where to_tsvector(title), plot, summary, to_tsvector(info->>a), unknown, title",
        ],
    );
}

#[test]
fn parents_can_be_ordered_by_what_is_embedded_one_to_one() {
    check(
        "GET /films?select=title,d:directors(name,info->a)&order=d(name).desc,year.nullsfirst,d(info->a)",
        &[
            "films: title",
            "  order films_d_1.name desc, year nulls first, films_d_1.info->a",
            "  d = object of films_d_1",
            "    directors as directors_1: name, to_jsonb(info)->a as a",
        ],
    );
}

#[test]
fn no_level_has_more_rows_than_allowed() {
    let cinema = Cinema::new().with(|config| config.max_rows = Some(10));
    check_in(
        &cinema,
        "GET /films?select=title,directors(name),roles(character)&limit=50&roles.limit=3",
        &[
            "films: title",
            "  limit 10",
            "  directors = object of films_directors_1",
            "    directors as directors_1: name",
            "      limit 10",
            "  roles = array of films_roles_1",
            "    roles as roles_1: character",
            "      limit 3",
        ],
    );
    check_in(
        &cinema,
        "POST /films?select=title&limit=1\nprefer: return=representation\n\n{}",
        &["source as films: title"],
    );
}

#[test]
fn an_alias_is_the_name_but_the_relation_is_still_understood() {
    let request = "GET /films?select=cast:actors(name),actors:roles(character)&cast.name=eq.a\
                   &actors.character=eq.b&roles.limit=1";
    check(
        request,
        &[
            "films",
            "  cast = array of films_cast_1",
            "    actors across roles: name",
            "      where name",
            "  actors = array of films_actors_1",
            "    roles as roles_1: character",
            "      where character",
            "      limit 1",
        ],
    );
    let deprecated_names = |request: &str| {
        Cinema::new().plan(request, |planned| {
            let names = planned.expect("a plan").deprecated_names;
            let owned = |(name, alias): (&str, &str)| format!("{name} is {alias}");
            names.into_iter().map(owned).collect::<Vec<_>>()
        })
    };
    assert_eq!(deprecated_names(request), ["roles is actors"]);
    assert!(deprecated_names("GET /films?select=d:directors(id)&d.id=eq.1").is_empty());
    assert!(deprecated_names("GET /films?select=directors(id)&directors.id=eq.1").is_empty());
}
