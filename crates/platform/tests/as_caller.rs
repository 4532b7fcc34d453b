//! Row level security decides, through the one way to data.

mod support;

use plinth_db::{DbError, Step};
use plinth_platform::MigrationFile;
use plinth_project::{Project, ProjectName};
use serde_json::json;
use support::{TestPlatform, now};
use tokio_postgres::error::SqlState;

const ADA: &str = "00000000-0000-0000-0000-00000000000a";
const BOB: &str = "00000000-0000-0000-0000-00000000000b";

async fn notes(app: &TestPlatform) -> Project {
    let name = app.project("Notes").await;
    let sql = format!(
        "create table notes (id int, owner uuid);
         insert into notes values (1, '{ADA}'), (2, '{BOB}');
         alter table notes enable row level security;
         create policy own on notes using (auth.uid() = owner) with check (auth.uid() = owner);"
    );
    let file = MigrationFile::new("1_notes.sql", sql).expect("a good name");
    app.platform
        .apply_migration(&name, &file)
        .await
        .expect("applied");
    app.open(&name).await
}

fn caller(project: &Project, role: &str, sub: &str) -> plinth_project::Caller {
    let claims = json!({ "role": role, "sub": sub, "exp": now() + 60 });
    let token = project.keys().keyset.sign(&claims).expect("a token");
    TestPlatform::caller(project, &token).expect("a caller")
}

async fn ids(project: &Project, caller: &plinth_project::Caller) -> Result<Vec<i32>, DbError> {
    let rows = project
        .db
        .as_caller(caller)
        .read_only()
        .query("select id from notes order by id", &[])
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[tokio::test]
async fn every_user_sees_their_own_rows() {
    let app = TestPlatform::start().await;
    let project = notes(&app).await;

    assert_eq!(
        ids(&project, &caller(&project, "authenticated", ADA))
            .await
            .expect("rows"),
        [1]
    );
    assert_eq!(
        ids(&project, &caller(&project, "authenticated", BOB))
            .await
            .expect("rows"),
        [2]
    );
    assert_eq!(
        ids(&project, &caller(&project, "anon", ADA))
            .await
            .expect("rows"),
        [1]
    );
    assert_eq!(
        ids(&project, &caller(&project, "service_role", ADA))
            .await
            .expect("rows"),
        [1, 2]
    );
}

#[tokio::test]
async fn no_claim_reaches_further_than_authenticator_may() {
    let app = TestPlatform::start().await;
    let project = notes(&app).await;

    for role in [
        "postgres",
        "supabase_admin",
        "supabase_auth_admin",
        "authenticator; reset role",
    ] {
        let error = ids(&project, &caller(&project, role, ADA))
            .await
            .expect_err(role);
        let code = error.sqlstate().cloned();
        assert!(
            code == Some(SqlState::INSUFFICIENT_PRIVILEGE)
                || code == Some(SqlState::INVALID_PARAMETER_VALUE),
            "{role}: {error}"
        );
    }
}

#[tokio::test]
async fn a_write_against_the_policy_is_rejected_and_undone() {
    let app = TestPlatform::start().await;
    let project = notes(&app).await;
    let ada = caller(&project, "authenticated", ADA);

    let (mut transaction, _) = project
        .db
        .as_caller(&ada)
        .setting("request.method", "POST")
        .begin(&[Step::typed("insert into notes values (3, auth.uid())", &[])])
        .await
        .expect("her own row");
    let sql = format!("insert into notes values (4, '{BOB}')");
    let rejected = transaction.query(&sql, &[]).await;
    drop(transaction);

    assert_eq!(
        rejected.expect_err("rejected").sqlstate(),
        Some(&SqlState::INSUFFICIENT_PRIVILEGE)
    );
    assert_eq!(ids(&project, &ada).await.expect("rows"), [1]);
}

#[tokio::test]
async fn request_settings_are_seen_inside_and_gone_outside() {
    let app = TestPlatform::start().await;
    let project = app.open(&ProjectName::Default).await;
    let ada = caller(&project, "authenticated", ADA);
    let sql = "select current_setting('request.method', true), auth.role(), auth.uid()::text,
                      current_setting('search_path')";

    let rows = project
        .db
        .as_caller(&ada)
        .setting_before_role("search_path", "\"public\", \"extensions\"")
        .setting("request.method", "GET")
        .query(sql, &[])
        .await
        .expect("a row");

    assert_eq!(rows[0].get::<_, &str>(0), "GET");
    assert_eq!(rows[0].get::<_, &str>(1), "authenticated");
    assert_eq!(rows[0].get::<_, &str>(2), ADA);
    assert_eq!(rows[0].get::<_, &str>(3), "\"public\", \"extensions\"");
}
