//! What mutations change and return.

use super::{
    super::{Change, MutatePlan},
    *,
};

fn mutation<T>(request: &str, look: impl FnOnce(&MutatePlan<'_>) -> T) -> T {
    Cinema::new().plan(request, |planned| match planned.expect("a plan").plan {
        Plan::Mutate(plan) => look(&plan),
        other => panic!("no mutation, but {other:?}"),
    })
}

fn returning(request: &str) -> String {
    mutation(request, |plan| plan.returning.join(" "))
}

#[test]
fn only_what_is_shown_or_joined_is_returned() {
    let post = |query: &str, wish: &str| {
        returning(&format!(
            "POST /films?{query}\nprefer: return={wish}\n\n{{}}"
        ))
    };

    assert_eq!(post("select=title", "minimal"), "");
    assert_eq!(returning("POST /films?select=title\n\n{}"), "");
    assert_eq!(post("select=title", "representation"), "id title");
    assert_eq!(post("select=title", "headers-only"), "id title");
    assert_eq!(post("", "representation"), "*");
    assert_eq!(
        post("select=t:title,directors(name)", "representation"),
        "director_id id title"
    );
    assert_eq!(
        post("select=year,actors(name)", "representation"),
        "id year"
    );
    assert_eq!(post("select=title,cast_of(name)", "representation"), "*");
    let delete = "DELETE /roles?select=character\nprefer: return=representation";
    assert_eq!(returning(delete), "actor_id character film_id");
}

#[test]
fn filters_of_the_root_choose_what_is_changed_and_not_what_is_shown() {
    let request = "PATCH /films?select=title,roles(character)&id=eq.1&or=(year.eq.1)\
                   &roles.character=eq.x&order=title&limit=1\
                   \nprefer: return=representation\n\n{\"year\":2}";
    check(
        request,
        &[
            "source as films: title",
            "  order title",
            "  roles = array of films_roles_1",
            "    roles as roles_1: character",
            "      where character",
        ],
    );
    let conditions = mutation(request, |plan| match &plan.change {
        Change::Update { conditions, .. } => conditions.len(),
        other => panic!("no update, but {other:?}"),
    });
    assert_eq!(conditions, 2);
}

#[test]
fn the_keys_of_the_body_are_the_columns_unless_they_are_named() {
    let columns = |request: &str| {
        mutation(request, |plan| match &plan.change {
            Change::Insert { body, .. } | Change::Update { body, .. } => {
                let names: Vec<&str> = body.columns.iter().map(|column| column.name).collect();
                names.join(" ")
            }
            Change::Delete { .. } => panic!("a delete has no body"),
        })
    };

    assert_eq!(columns("POST /films\n\n{\"year\":1,\"id\":2}"), "id year");
    assert_eq!(
        columns("POST /films?columns=\"year\"\n\n[{\"id\":1},{\"x\":2}]"),
        "year"
    );
    assert_eq!(columns("PATCH /films?columns=year\n\n{\"x\":2}"), "year");
    assert_eq!(
        columns("PUT /films?id=eq.1&columns=year\n\n{\"id\":1}"),
        "id"
    );
}
