//! Spread embeds.

use super::*;

#[test]
fn a_to_one_spread_lifts_its_columns() {
    check(
        "GET /films?select=title,...directors(director:name,born,info->a)",
        &[
            "films: title",
            "  directors = spread (director, born, a) of films_directors_1",
            "    directors as directors_1: name as director, born, to_jsonb(info)->a as a",
        ],
    );
    check(
        "GET /films?select=...directors(*)",
        &[
            "films",
            "  directors = spread (*) of films_directors_1",
            "    directors as directors_1: *",
        ],
    );
}

#[test]
fn a_to_many_spread_gives_an_array_of_each_column() {
    check(
        "GET /films?select=title,...roles(character,actor_id)",
        &[
            "films: title",
            "  roles = arrays (character, actor_id) of films_roles_1",
            "    roles as roles_1: character, actor_id",
        ],
    );
}

#[test]
fn a_star_in_a_to_many_spread_is_expanded() {
    check(
        "GET /films?select=...actors(*)",
        &[
            "films",
            "  actors = arrays (id, name) of films_actors_1",
            "    actors across roles: id, name",
        ],
    );
}

#[test]
fn the_order_of_the_arrays_is_carried_along_under_names_of_its_own() {
    check(
        "GET /films?select=...roles(character,actors(name))&roles.order=character.desc,actors(name).asc.nullslast",
        &[
            "films",
            "  roles = arrays (character, actors) of films_roles_1",
            "    roles as roles_1: character",
            "      order of arrays character desc as films_roles_1_character_1, \
             roles_actors_2.name asc nulls last as films_roles_1_name_2",
            "      actors = object of roles_actors_2",
            "        actors as actors_2: name",
        ],
    );
}

#[test]
fn spreads_nest() {
    check(
        "GET /roles?select=character,...films(title,...directors(name),...premieres(id))",
        &[
            "roles: character",
            "  films = spread (title, name, id) of roles_films_1",
            "    films as films_1: title",
            "      directors = spread (name) of films_directors_2",
            "        directors as directors_2: name",
            "      premieres = arrays (id) of films_premieres_2",
            "        premieres as premieres_2: id",
        ],
    );
    check(
        "GET /directors?select=...films(title,...roles(character))",
        &[
            "directors",
            "  films = arrays (title, character) of directors_films_1",
            "    films as films_1: title",
            "      roles = arrays (character) of films_roles_2",
            "        roles as roles_2: character",
        ],
    );
}

#[test]
fn embeds_below_a_spread_are_lifted_by_name_and_hidden_ones_are_not() {
    check(
        "GET /films?select=...directors(made:films(title),best_film())",
        &[
            "films",
            "  directors = spread (made) of films_directors_1",
            "    directors as directors_1",
            "      made = array of directors_made_2",
            "        films as films_2: title",
            "      best_film = hidden of directors_best_film_2",
            "        best_film(directors_1) as films_2",
        ],
    );
}
