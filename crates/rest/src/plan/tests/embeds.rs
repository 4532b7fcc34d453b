//! The relationship of an embed, and how it is joined.

use super::*;

#[test]
fn nothing_selected_is_everything() {
    check("GET /films", &["films: *"]);
    check("GET /films?select=", &["films: *"]);
}

#[test]
fn columns_keep_their_order_casts_and_names() {
    check(
        "GET /films?select=year::text,t:title,info->a->>b,info->a->0,tags->1,upper",
        &[
            "films: year::text, title as t, info->a->>b as b, info->a->0 as a, \
           to_jsonb(tags)->1 as tags, upper",
        ],
    );
}

#[test]
fn the_key_on_our_side_gives_an_object() {
    let expected = [
        "films: title",
        "  directors = object of films_directors_1",
        "    directors as directors_1: name",
    ];
    check("GET /films?select=title,directors(name)", &expected);
    check(
        "GET /films?select=title,directors!films_director_fkey(name)",
        &expected,
    );
    check(
        "GET /films?select=title,directors!director_id(name)",
        &expected,
    );
    check("GET /films?select=title,directors!id(name)", &expected);
    check("GET /films?select=title,directors!left(name)", &expected);
}

#[test]
fn the_key_on_the_other_side_gives_an_array() {
    check(
        "GET /directors?select=name,made:films!inner(title)",
        &[
            "directors: name",
            "  inner made = array of directors_made_1",
            "    films as films_1: title",
        ],
    );
}

#[test]
fn the_key_or_its_column_may_stand_for_the_relation() {
    check(
        "GET /films?select=director_id(name)",
        &[
            "films",
            "  director_id = object of films_director_id_1",
            "    directors as directors_1: name",
        ],
    );
    check(
        "GET /films?select=films_director_fkey(name)",
        &[
            "films",
            "  films_director_fkey = object of films_films_director_fkey_1",
            "    directors as directors_1: name",
        ],
    );
}

#[test]
fn a_view_is_not_found_by_the_name_of_a_key() {
    // Both `films` and `film_list` refer to directors by this key, but only one is a table.
    check(
        "GET /directors?select=films_director_fkey(title)",
        &[
            "directors",
            "  films_director_fkey = array of directors_films_director_fkey_1",
            "    films as films_1: title",
        ],
    );
    check(
        "GET /directors?select=film_list(id)",
        &[
            "directors",
            "  film_list = array of directors_film_list_1",
            "    film_list as film_list_1: id",
        ],
    );
}

#[test]
fn a_key_that_is_unique_gives_an_object_on_both_sides() {
    check(
        "GET /films?select=technical_specs(camera)",
        &[
            "films",
            "  technical_specs = object of films_technical_specs_1",
            "    technical_specs as technical_specs_1: camera",
        ],
    );
    check(
        "GET /technical_specs?select=films(title)",
        &[
            "technical_specs",
            "  films = object of technical_specs_films_1",
            "    films as films_1: title",
        ],
    );
}

#[test]
fn a_junction_is_crossed() {
    let expected = [
        "films",
        "  actors = array of films_actors_1",
        "    actors across roles: name",
    ];
    check("GET /films?select=actors(name)", &expected);
    check("GET /films?select=actors!roles(name)", &expected);
}

#[test]
fn computed_relationships_are_called_with_the_parent() {
    check(
        "GET /directors?select=best_film(title,cast_of(name))",
        &[
            "directors",
            "  best_film = object of directors_best_film_1",
            "    best_film(directors) as films_1: title",
            "      cast_of = array of films_cast_of_2",
            "        cast_of(films_1) as actors_2: name",
        ],
    );
}

#[test]
fn a_hint_means_nothing_to_a_computed_relationship() {
    check(
        "GET /directors?select=best_film!whatever(title)",
        &[
            "directors",
            "  best_film = object of directors_best_film_1",
            "    best_film(directors) as films_1: title",
        ],
    );
}

#[test]
fn a_relation_that_refers_to_itself_goes_down_by_name_and_up_by_column() {
    let children = [
        "studios",
        "  studios = array of studios_studios_1",
        "    studios as studios_1: name",
    ];
    check("GET /studios?select=studios(name)", &children);
    check("GET /studios?select=studios!parent_id(name)", &children);
    check(
        "GET /studios?select=parent:parent_id(name,parent_id(name))",
        &[
            "studios",
            "  parent = object of studios_parent_1",
            "    studios as studios_1: name",
            "      parent_id = object of studios_parent_id_2",
            "        studios as studios_2: name",
        ],
    );
}

#[test]
fn one_of_several_keys_is_chosen_by_a_hint() {
    check(
        "GET /premieres?select=first:cinemas!opening_cinema(city),last:cinemas!premieres_closing_fkey(city)",
        &[
            "premieres",
            "  first = object of premieres_first_1",
            "    cinemas as cinemas_1: city",
            "  last = object of premieres_last_1",
            "    cinemas as cinemas_1: city",
        ],
    );
}

#[test]
fn an_embed_without_columns_is_there_for_its_filters_only() {
    check(
        "GET /films?select=title,directors!inner()&directors.name=eq.x",
        &[
            "films: title",
            "  inner directors = hidden of films_directors_1",
            "    directors as directors_1",
            "      where name",
        ],
    );
    check(
        "GET /films?select=title,roles(actors())",
        &[
            "films: title",
            "  roles = hidden of films_roles_1",
            "    roles as roles_1",
            "      actors = hidden of roles_actors_2",
            "        actors as actors_2",
        ],
    );
}

#[test]
fn domains_are_rendered_and_read_by_their_functions() {
    check(
        "GET /colours?select=*&shade=eq.%23fff",
        &[
            "colours: id, api.colour_to_json(shade) as shade, name",
            "  where shade by api.colour_from_text",
        ],
    );
    check("GET /colours?select=name", &["colours: name"]);
    check(
        "GET /colours?select=s:shade",
        &["colours: api.colour_to_json(shade) as s"],
    );
}
