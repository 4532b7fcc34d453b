//! The cache of `fixture.sql`, loaded by a role without privileges.

mod handlers;
mod relations;
mod relationships;
mod routines;
mod scale;

use plinth_testkit::TestDatabase;
use tokio::sync::OnceCell;

use crate::schema_cache::{SchemaCache, Scope};

const ODD: &str = "Ünï \"côdé\"";

static CACHE: OnceCell<SchemaCache> = OnceCell::const_new();

/// The fixture's cache, shared by all tests.
async fn cache() -> &'static SchemaCache {
    CACHE.get_or_init(load_fixture).await
}

async fn load_fixture() -> SchemaCache {
    let database = TestDatabase::create().await;
    let admin = database.admin().await;
    let fixture = include_str!("fixture.sql");
    admin.batch_execute(fixture).await.expect("the fixture");
    let mut client = database.connect_as("anon").await;
    let scope = scope(&["api", ODD], &["extra", "not_there"]);

    // In a task of its own: waiting tests may be on any thread.
    let load = tokio::spawn(async move { SchemaCache::load(&mut client, &scope).await });
    load.await.expect("no panic").expect("a cache")
}

fn scope(schemas: &[&str], extra_search_path: &[&str]) -> Scope {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Scope {
        schemas: owned(schemas),
        extra_search_path: owned(extra_search_path),
        hoisted_settings: owned(&["statement_timeout", "default_transaction_isolation"]),
    }
}

#[tokio::test]
async fn schemas_that_do_not_exist_are_reported() {
    assert_eq!(cache().await.missing_schemas(), ["not_there"]);
}

#[tokio::test]
async fn the_connection_can_be_used_afterwards() {
    let database = TestDatabase::create().await;
    let mut client = database.admin().await;

    let cache = SchemaCache::load(&mut client, &scope(&["nothing"], &[])).await;
    let row = client.query_one("show search_path", &[]).await;

    assert_eq!(cache.expect("a cache").counts().relations, 0);
    assert_ne!(row.expect("no transaction is open").get::<_, &str>(0), "");
}
