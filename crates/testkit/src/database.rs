//! A database per test.

use plinth_db::{QuotedIdent, Target};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, error::SqlState};

use crate::{
    TestServer,
    template::{self, TEMPLATE, grant_create},
    until,
};

static TEMPLATE_READY: OnceCell<()> = OnceCell::const_new();

/// A database that only one test uses.
pub struct TestDatabase {
    target: Target,
}

impl TestDatabase {
    /// A fresh database with all roles and system schemas.
    pub async fn create() -> Self {
        TEMPLATE_READY.get_or_init(ensure_template).await;
        Self::copy_of(TEMPLATE).await
    }

    /// A copy of another database.
    pub async fn copy_of(template: &str) -> Self {
        let server = TestServer::shared().await;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        let admin = server.connect().await;
        let ident = QuotedIdent::new(&name);
        let sql = format!(
            "create database {ident} template {}",
            QuotedIdent::new(template)
        );
        until(async || match admin.batch_execute(&sql).await {
            Ok(()) => true,
            // A connection that filled the template is still closing.
            Err(error) if error.code() == Some(&SqlState::OBJECT_IN_USE) => false,
            Err(error) => panic!("{error:?}: {sql}"),
        })
        .await;
        grant_create(&admin, &name).await;
        Self::named(&name).await
    }

    /// A database that exists.
    pub async fn named(name: &str) -> Self {
        Self {
            target: TestServer::shared().await.admin().database(name),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.target.database_name()
    }

    /// The superuser on this database.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A connection of the superuser.
    pub async fn admin(&self) -> Client {
        let connected = self.target.connect().await;
        connected.expect("the test server accepts connections")
    }

    /// A connection that has switched to a role.
    pub async fn connect_as(&self, role: &str) -> Client {
        let client = self.admin().await;
        let sql = format!("set role {}", QuotedIdent::new(role));
        client.batch_execute(&sql).await.expect("the role exists");
        client
    }

    /// `alter database`, from outside of it.
    pub async fn alter(&self, change: &str) {
        let admin = TestServer::shared().await.connect().await;
        let sql = format!("alter database {} {change}", QuotedIdent::new(self.name()));
        admin.batch_execute(&sql).await.expect("altered");
    }
}

/// Makes the template, unless the server's folder was copied with it.
async fn ensure_template() {
    let server = TestServer::shared().await;
    let exists = "select exists (select from pg_database where datname = $1)";
    let row = server.connect().await.query_one(exists, &[&TEMPLATE]).await;
    if !row.expect("an answer").get::<_, bool>(0) {
        template::make(&server.admin()).await;
    }
}
