//! Relationships: which exist, in which direction, over which columns.

use std::sync::Arc;

use super::{ODD, cache};
use crate::schema_cache::{Join, Link, Relationship};

/// All relationships of a relation, as text.
#[track_caller]
fn check(all: &[Relationship], expected: &[&str]) {
    let seen: Vec<_> = all.iter().map(describe).collect();
    assert_eq!(seen, expected);
}

fn describe(relationship: &Relationship) -> String {
    let join = |kind: &str, join: &Join| {
        let Join {
            constraint,
            columns,
        } = join;
        format!("{kind} {constraint} {}", pairs(columns))
    };
    let link = match &relationship.link {
        Link::ManyToOne(key) => join("n:1", key),
        Link::OneToMany(key) => join("1:n", key),
        Link::OneToOne {
            join: key,
            is_parent: false,
        } => join("1:1", key),
        Link::OneToOne {
            join: key,
            is_parent: true,
        } => join("1:1 of", key),
        Link::ManyToMany(junction) => format!(
            "n:n by {} {} {} {} {}",
            junction.table.name,
            junction.source_constraint,
            pairs(&junction.source_columns),
            junction.target_constraint,
            pairs(&junction.target_columns),
        ),
        Link::Computed {
            function,
            is_to_one: true,
        } => format!("to one {}", function.name),
        Link::Computed { function, .. } => format!("to many {}", function.name),
    };
    let is_self = if relationship.is_self { "self " } else { "" };
    format!("{is_self}{} {link}", relationship.foreign_table.name)
}

fn pairs(columns: &[(Arc<str>, Arc<str>)]) -> String {
    let pairs: Vec<_> = columns.iter().map(|(a, b)| format!("{a}={b}")).collect();
    pairs.join(",")
}

#[tokio::test]
async fn foreign_keys_lead_both_ways() {
    let cache = cache().await;
    check(
        cache.relationships("api", "tasks"),
        &[
            "project_tree n:1 tasks_project_id_fkey project_id=id",
            "projects n:1 tasks_project_id_fkey project_id=id",
            "users n:1 tasks_owner owner_tenant=tenant,owner_name=name",
            "users to one owner",
        ],
    );
    check(
        cache.relationships("api", "users"),
        &[
            "members 1:n members_user tenant=tenant,name=name",
            "members_view 1:n members_user tenant=tenant,name=name",
            "project_tree n:n by members members_user tenant=tenant,name=name \
             members_project_id_fkey id=project_id",
            "project_tree n:n by members_view members_user tenant=tenant,name=name \
             members_project_id_fkey id=project_id",
            "projects n:n by members members_user tenant=tenant,name=name \
             members_project_id_fkey id=project_id",
            "projects n:n by members_view members_user tenant=tenant,name=name \
             members_project_id_fkey id=project_id",
            "seals 1:1 of seals_tenant_name_fkey tenant=tenant,name=name",
            "tasks 1:n tasks_owner tenant=owner_tenant,name=owner_name",
        ],
    );
}

#[tokio::test]
async fn a_unique_constraint_makes_one_to_one_and_a_unique_index_does_not() {
    let cache = cache().await;
    check(
        cache.relationships("api", "details"),
        &[
            "project_tree 1:1 details_project_id_fkey project_id=id",
            "projects 1:1 details_project_id_fkey project_id=id",
        ],
    );
    check(
        cache.relationships("api", "nearly_unique"),
        &[
            "project_tree n:1 nearly_unique_project_id_fkey project_id=id",
            "projects n:1 nearly_unique_project_id_fkey project_id=id",
        ],
    );
}

#[tokio::test]
async fn self_references_are_marked() {
    let cache = cache().await;
    let of_itself = |name: &str| {
        let all = cache.relationships("api", name).iter();
        all.filter(|one| *one.foreign_table.name == *name)
            .cloned()
            .collect::<Vec<_>>()
    };
    check(
        &of_itself("projects"),
        &[
            "self projects 1:n projects_parent_id_fkey id=parent_id",
            "self projects n:1 projects_parent_id_fkey parent_id=id",
        ],
    );
    check(
        &of_itself("project_tree"),
        &[
            "self project_tree 1:n projects_parent_id_fkey id=parent_again",
            "self project_tree 1:n projects_parent_id_fkey id=parent_id",
            "self project_tree n:1 projects_parent_id_fkey parent_again=id",
            "self project_tree n:1 projects_parent_id_fkey parent_id=id",
        ],
    );
    check(
        &of_itself("clients"),
        &[
            "self clients n:n by friends friends_first_fkey id=first friends_second_fkey id=second",
            "self clients n:n by friends friends_second_fkey id=second friends_first_fkey id=first",
        ],
    );
}

#[tokio::test]
async fn a_junction_has_both_keys_inside_its_primary_key_and_is_exposed() {
    let cache = cache().await;
    let junctions = |origin: &str| {
        let all = cache.relationships("api", origin).iter();
        let mut junctions: Vec<_> = all
            .filter_map(|relationship| match &relationship.link {
                Link::ManyToMany(junction) => Some(&*junction.table.name),
                _ => None,
            })
            .collect();
        junctions.sort_unstable();
        junctions.dedup();
        junctions
    };

    assert_eq!(junctions("projects"), ["members", "members_view"]);
    assert_eq!(junctions("clients"), ["friends"]);
    assert_eq!(junctions("tasks"), [""; 0]);
}

#[tokio::test]
async fn views_relate_like_the_tables_they_show() {
    let cache = cache().await;
    check(
        cache.relationships("api", "books"),
        &[
            "author_ids n:1 books_author_id_fkey author=id",
            "authors n:1 books_author_id_fkey author=id",
            "books_with_authors n:1 books_author_id_fkey author=author",
        ],
    );
    let books = &cache.relationships("api", "books")[0];
    assert!(books.table_is_view && books.foreign_table_is_view);
    check(
        cache.relationships("api", "author_ids"),
        &[
            "books 1:n books_author_id_fkey id=author",
            "books_with_authors 1:n books_author_id_fkey id=author_id",
        ],
    );
    for without in [
        "books_hidden",
        "books_computed",
        "books_union",
        "no_columns",
    ] {
        check(cache.relationships("api", without), &[]);
    }
}

#[tokio::test]
async fn partitioned_tables_relate_and_partitions_do_not() {
    let cache = cache().await;
    let events = |relationship: &&Relationship| relationship.foreign_table.name.contains("events");

    check(
        cache.relationships("api", "events"),
        &[
            "by_rule n:1 events_client_id_fkey client_id=id",
            "clients n:1 events_client_id_fkey client_id=id",
        ],
    );
    let of_clients = cache.relationships("api", "clients");
    assert_eq!(of_clients.iter().filter(events).count(), 1);
}

#[tokio::test]
async fn a_function_replaces_the_relationships_it_is_named_like() {
    let cache = cache().await;
    let projects = |relationship: &&Relationship| &*relationship.foreign_table.name == "projects";
    let of_clients = cache.relationships("api", "clients");
    let found: Vec<_> = of_clients.iter().filter(projects).cloned().collect();

    check(&found, &["projects to many projects"]);
    let of_projects = cache.relationships("api", "projects");
    let last = of_projects.last().cloned();
    check(last.as_slice(), &["tasks to one latest_task"]);
}

#[tokio::test]
async fn relationships_stay_within_their_schema() {
    let cache = cache().await;
    check(
        cache.relationships(ODD, "tàble.1"),
        &[
            "child {view} 1:n child(2)_tàble ref_fkey id ü=réf, {} \\ ( :targetList (",
            "child(2) 1:n child(2)_tàble ref_fkey id ü=tàble ref",
        ],
    );
    let origins: Vec<_> = cache.origins_in(ODD).collect();
    assert_eq!(origins, ["child {view}", "child(2)", "tàble.1"]);
    check(cache.relationships("private", "books"), &[]);
    check(cache.relationships("nowhere", "books"), &[]);
}
