//! Aggregates: the node that computes them, and grouping.

use super::*;

#[test]
fn aggregates_stay_where_they_are_written() {
    check(
        "GET /films?select=year,count(),year::text.max(),total:id.sum()::text,info->n.avg()",
        &["films: year, count(*), max(year::text), sum(id)::text as total, avg(info->n)"],
    );
    check(
        "GET /directors?select=name,films(year,count())",
        &[
            "directors: name",
            "  films = array of directors_films_1",
            "    films as films_1: year, count(*)",
        ],
    );
}

#[test]
fn the_bare_word_is_a_column() {
    let cinema = Cinema::new().with(|config| config.aggregates_enabled = false);
    check_in(
        &cinema,
        "GET /directors?select=films(count)",
        &[
            "directors",
            "  films = array of directors_films_1",
            "    films as films_1: count",
        ],
    );
}

#[test]
fn a_star_beside_an_aggregate_is_expanded_and_so_are_those_below() {
    check(
        "GET /roles?select=*,count(),actors(*)",
        &[
            "roles: film_id, actor_id, character, count(*)",
            "  actors = object of roles_actors_1",
            "    actors as actors_1: id, name",
        ],
    );
}

#[test]
fn a_to_one_spread_leaves_aggregating_to_its_parent() {
    check(
        "GET /films?select=year,...directors(count(),born.max(),eldest:born.min())",
        &[
            "films: year",
            "  directors = spread (count(count), max(max), min(eldest)) of films_directors_1",
            "    directors as directors_1: row as count, born as max, born as eldest",
        ],
    );
}

#[test]
fn through_spreads_aggregates_rise_to_the_first_that_is_none() {
    check(
        "GET /roles?select=character,...films(year,...directors(id.count()::text))",
        &[
            "roles: character",
            "  films = spread (year, count(count)::text) of roles_films_1",
            "    films as films_1: year",
            "      directors = spread (count for an ancestor to aggregate) of films_directors_2",
            "        directors as directors_2: id as count",
        ],
    );
    check(
        "GET /actors?select=roles(character,...films(year.max()))",
        &[
            "actors",
            "  roles = array of actors_roles_1",
            "    roles as roles_1: character",
            "      films = spread (max(max)) of roles_films_2",
            "        films as films_2: year as max",
        ],
    );
}
