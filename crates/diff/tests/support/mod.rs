//! Databases to compare.
#![allow(dead_code, unreachable_pub)]

pub mod cases;

use plinth_diff::{Changes, Schema, Scope, compare};
use plinth_testkit::TestDatabase;
use tokio_postgres::Client;

/// A database, and a session in it.
pub struct Side {
    pub database: TestDatabase,
    pub client: Client,
    role: &'static str,
}

impl Side {
    /// One whose objects belong to `role`.
    pub async fn new(role: &'static str) -> Self {
        let database = TestDatabase::create().await;
        let client = session(&database, role).await;
        Self {
            database,
            client,
            role,
        }
    }

    pub async fn run(&self, sql: &str) -> Result<(), String> {
        let ran = self.client.batch_execute(sql).await;
        ran.map_err(|error| plinth_db::describe(&error))
    }

    /// Reads it in a session of its own.
    pub async fn read(&self) -> Schema {
        let mut client = session(&self.database, self.role).await;
        match Schema::read(&mut client).await {
            Ok(schema) => schema,
            Err(error) => panic!("{error}"),
        }
    }

    /// Makes this one like the other and checks that nothing is left. Returns what was run.
    pub async fn become_like(&self, other: &Schema, what: &str) -> Changes {
        self.change(&self.read().await, other, what).await.0
    }

    /// The same from what was read of it. Returns what it is then, too.
    pub async fn change(&self, now: &Schema, other: &Schema, what: &str) -> (Changes, Schema) {
        let changes = compare(now, other, &Scope::all());
        let sql = changes.to_sql();
        // As a migration runs: in one transaction, by a session with its own settings.
        let client = session(&self.database, self.role).await;
        let ran = client
            .batch_execute(&format!("begin;\n{sql}\ncommit;"))
            .await;
        if let Err(error) = ran {
            panic!("{what}: {}\n{sql}", plinth_db::describe(&error));
        }
        let after = self.read().await;
        let left = compare(&after, other, &Scope::all()).to_sql();
        assert!(left.is_empty(), "{what}:\n{sql}\n-- is left:\n{left}");
        (changes, after)
    }
}

async fn session(database: &TestDatabase, role: &str) -> Client {
    let client = database.admin().await;
    client
        .batch_execute(&format!(
            "set role {role}; set search_path = public, extensions"
        ))
        .await
        .expect("the role");
    client
}

pub async fn version(side: &Side) -> i32 {
    let sql = "select current_setting('server_version_num')::int4";
    side.client
        .query_one(sql, &[])
        .await
        .expect("a version")
        .get(0)
}
