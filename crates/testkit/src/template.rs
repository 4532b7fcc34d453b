//! The database that all others are copied from.

use plinth_db::{QuotedIdent, Target, migrate};
use plinth_project::prepare_cluster;
use tokio_postgres::Client;

use crate::system_schemas;

pub(crate) const TEMPLATE: &str = "testkit_template";

/// Makes the template on the server of `maintenance`, a connection target of its superuser.
pub(crate) async fn make(maintenance: &Target) {
    let mut admin = maintenance
        .connect()
        .await
        .expect("the test server accepts connections");
    prepare_cluster(&mut admin, true)
        .await
        .expect("the shared roles");
    let sql = format!("create database {TEMPLATE} template template0 encoding 'UTF8'");
    admin.batch_execute(&sql).await.expect("the template");
    grant_create(&admin, TEMPLATE).await;
    let mut inside = maintenance.database(TEMPLATE).connect().await;
    let inside = inside.as_mut().expect("the template accepts connections");
    migrate::migrate(inside, &system_schemas())
        .await
        .expect("the system schemas");
}

/// Privileges on a database are not copied from its template.
pub(crate) async fn grant_create(admin: &Client, database: &str) {
    let sql = format!(
        "grant create on database {} to postgres",
        QuotedIdent::new(database)
    );
    let granted = admin.batch_execute(&sql).await;
    granted.expect("the owner may create");
}
