//! A database per test, and requests as JSON as the API has them.

use plinth_db::{Begin, LocalSettings, OpenTransaction, Pool, PoolConfig};
use plinth_query::{Page, PageRequest, QueryError, WrittenRows};
use plinth_testkit::{Sql as _, TestDatabase};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub struct Rows {
    pub db: TestDatabase,
    pool: Pool,
}

/// A request from its JSON.
pub fn request<T: DeserializeOwned>(body: Value) -> T {
    serde_json::from_value(body).expect("a request")
}

impl Rows {
    /// A database in which this SQL was run.
    pub async fn new(sql: &str) -> Self {
        let db = TestDatabase::create().await;
        db.execute(sql).await;
        let pool = Pool::new(db.target().clone(), PoolConfig::default());
        Self { db, pool }
    }

    pub async fn begin(&self) -> OpenTransaction {
        let settings = LocalSettings::default();
        let begun = self.pool.begin(Begin::default(), &settings, &[]).await;
        begun.expect("a transaction").0
    }

    pub async fn try_page(&self, body: Value) -> Result<Page, QueryError> {
        let request: PageRequest = request(body);
        let mut tx = self.begin().await;
        let page = plinth_query::page(&mut tx, &request).await;
        tx.rollback().await.expect("rolled back");
        page
    }

    pub async fn page(&self, body: Value) -> Page {
        self.try_page(body).await.expect("a page")
    }

    /// All rows, page by page, of their first column.
    pub async fn walk(&self, body: &Value, limit: u32) -> Vec<String> {
        let mut all = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let mut body = body.clone();
            body["limit"] = json!(limit);
            body["after"] = json!(after);
            let page = self.page(body).await;
            all.extend(firsts(&page));
            assert!(all.len() < 1000, "the pages have an end");
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    }

    pub async fn insert(&self, body: Value) -> Result<WrittenRows, QueryError> {
        let mut tx = self.begin().await;
        let written = plinth_query::insert(&mut tx, &request(body)).await;
        finish(tx, written).await
    }

    pub async fn update(&self, body: Value) -> Result<WrittenRows, QueryError> {
        let mut tx = self.begin().await;
        let written = plinth_query::update(&mut tx, &request(body)).await;
        finish(tx, written).await
    }

    pub async fn delete(&self, body: Value) -> Result<WrittenRows, QueryError> {
        let mut tx = self.begin().await;
        let written = plinth_query::delete(&mut tx, &request(body)).await;
        finish(tx, written).await
    }
}

async fn finish(
    tx: OpenTransaction,
    written: Result<WrittenRows, QueryError>,
) -> Result<WrittenRows, QueryError> {
    match written {
        Ok(written) => tx.commit().await.map(|()| written).map_err(Into::into),
        Err(error) => {
            tx.rollback().await.expect("rolled back");
            Err(error)
        }
    }
}

/// The first column of a page.
pub fn firsts(page: &Page) -> Vec<String> {
    let rows = page.set.rows.iter();
    rows.map(|row| row[0].clone().unwrap_or_else(|| "null".to_owned()))
        .collect()
}

/// A row of texts.
pub fn row<const N: usize>(values: [Option<&str>; N]) -> Vec<Option<String>> {
    values.map(|value| value.map(str::to_owned)).to_vec()
}
