//! A large schema loads fast.

use std::time::{Duration, Instant};

use plinth_testkit::TestDatabase;

use super::scope;
use crate::schema_cache::SchemaCache;

#[tokio::test]
async fn a_thousand_tables_load_in_moments() {
    let database = TestDatabase::create().await;
    let mut client = database.admin().await;
    let fixture = include_str!("scale.sql");
    client.batch_execute(fixture).await.expect("the fixture");

    let started = Instant::now();
    let cache = SchemaCache::load(&mut client, &scope(&["big"], &[])).await;
    let elapsed = started.elapsed();

    let counts = cache.expect("a cache").counts();
    eprintln!("{counts} in {elapsed:?}");
    assert_eq!(counts.relations, 1200);
    assert!(counts.relationships >= 3000, "{counts}");
    // A second on a free machine; work that grows with the square would take minutes.
    assert!(elapsed < Duration::from_secs(30), "{elapsed:?}");
}
