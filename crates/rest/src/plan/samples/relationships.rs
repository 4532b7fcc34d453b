//! Relationships of the sample: one or more of every kind.

use super::api;
use crate::schema_cache::{Join, Junction, Link, Relationship};

pub(super) fn all() -> Vec<Relationship> {
    let mut all = Vec::new();
    let mut key = |constraint: &str, from: &str, to: &str, columns: &[(&str, &str)]| {
        all.extend(foreign_key(constraint, from, to, columns));
    };
    key(
        "films_director_fkey",
        "films",
        "directors",
        &[("director_id", "id")],
    );
    key(
        "films_director_fkey",
        "film_list",
        "directors",
        &[("director_id", "id")],
    );
    key("roles_film_fkey", "roles", "films", &[("film_id", "id")]);
    key("roles_actor_fkey", "roles", "actors", &[("actor_id", "id")]);
    key(
        "specs_film_fkey",
        "technical_specs",
        "films",
        &[("film_id", "id")],
    );
    key(
        "nominations_competition_fkey",
        "nominations",
        "competitions",
        &[("competition_id", "id")],
    );
    key(
        "nominations_film_fkey",
        "nominations",
        "films",
        &[("film_id", "id"), ("film_year", "year")],
    );
    key(
        "premieres_film_fkey",
        "premieres",
        "films",
        &[("film_id", "id")],
    );
    key(
        "premieres_opening_fkey",
        "premieres",
        "cinemas",
        &[("opening_cinema", "id")],
    );
    key(
        "premieres_closing_fkey",
        "premieres",
        "cinemas",
        &[("closing_cinema", "id")],
    );
    key(
        "studios_parent_fkey",
        "studios",
        "studios",
        &[("parent_id", "id")],
    );
    all.extend([
        many_to_many(
            "films",
            "actors",
            ("roles_film_fkey", "film_id"),
            ("roles_actor_fkey", "actor_id"),
        ),
        many_to_many(
            "actors",
            "films",
            ("roles_actor_fkey", "actor_id"),
            ("roles_film_fkey", "film_id"),
        ),
        computed("directors", "best_film", "films", true),
        computed("films", "cast_of", "actors", false),
    ]);
    all
}

fn foreign_key(
    constraint: &str,
    from: &str,
    to: &str,
    columns: &[(&str, &str)],
) -> [Relationship; 2] {
    let join = |columns: Vec<(&str, &str)>| Join {
        constraint: constraint.into(),
        columns: columns
            .into_iter()
            .map(|(a, b)| (a.into(), b.into()))
            .collect(),
    };
    let there = join(columns.to_vec());
    let back = join(columns.iter().map(|(own, other)| (*other, *own)).collect());
    let (there, back) = match constraint {
        "specs_film_fkey" => (
            Link::OneToOne {
                join: there,
                is_parent: false,
            },
            Link::OneToOne {
                join: back,
                is_parent: true,
            },
        ),
        _ => (Link::ManyToOne(there), Link::OneToMany(back)),
    };
    [relationship(from, to, there), relationship(to, from, back)]
}

fn many_to_many(from: &str, to: &str, source: (&str, &str), target: (&str, &str)) -> Relationship {
    let link = Link::ManyToMany(Junction {
        table: api("roles"),
        source_constraint: source.0.into(),
        target_constraint: target.0.into(),
        source_columns: vec![("id".into(), source.1.into())],
        target_columns: vec![("id".into(), target.1.into())],
    });
    relationship(from, to, link)
}

fn computed(from: &str, function: &str, to: &str, is_to_one: bool) -> Relationship {
    let link = Link::Computed {
        function: api(function),
        is_to_one,
    };
    relationship(from, to, link)
}

fn relationship(from: &str, to: &str, link: Link) -> Relationship {
    Relationship {
        table: api(from),
        foreign_table: api(to),
        is_self: from == to,
        table_is_view: from == "film_list",
        foreign_table_is_view: to == "film_list",
        link,
    }
}
