//! SQL of a test on its database.

use tokio_postgres::{Client, Row};

use crate::TestDatabase;

/// What has a database. All statements run as the superuser.
#[allow(
    async_fn_in_trait,
    reason = "only tests call it, on types that they know"
)]
pub trait Sql {
    fn db(&self) -> &TestDatabase;

    /// A connection of the superuser.
    async fn admin(&self) -> Client {
        self.db().admin().await
    }

    /// Runs statements; `DATABASE` stands for the database's name.
    async fn execute(&self, sql: &str) {
        let sql = sql.replace("DATABASE", self.db().name());
        let done = self.admin().await.batch_execute(&sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    async fn query(&self, sql: &str) -> Vec<Row> {
        let rows = self.admin().await.query(sql, &[]).await;
        rows.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
    }

    /// The only row.
    async fn query_one(&self, sql: &str) -> Row {
        let row = self.admin().await.query_one(sql, &[]).await;
        row.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
    }

    /// One number.
    async fn count(&self, sql: &str) -> i64 {
        self.query_one(sql).await.get(0)
    }
}

impl Sql for TestDatabase {
    fn db(&self) -> &TestDatabase {
        self
    }
}
