//! A database per test.

use plinth_db::{QuotedIdent, Target, migrate};
use plinth_project::prepare_cluster;
use tokio::sync::OnceCell;
use tokio_postgres::Client;

use crate::{TestServer, system_schemas};

const TEMPLATE: &str = "testkit_template";

static TEMPLATE_READY: OnceCell<()> = OnceCell::const_new();

/// A database that only one test uses.
pub struct TestDatabase {
    target: Target,
    name: String,
}

impl TestDatabase {
    /// A fresh database with all roles and system schemas.
    pub async fn create() -> Self {
        let server = TestServer::shared().await;
        TEMPLATE_READY.get_or_init(make_template).await;
        let name = format!("test_{}", uuid::Uuid::new_v4().simple());
        let admin = connect(&server.admin()).await;
        let ident = QuotedIdent::new(&name);
        let sql = format!("create database {ident} template {TEMPLATE}");
        admin
            .batch_execute(&sql)
            .await
            .expect("a database from the template");
        // Privileges on a database do not come along with its template.
        let sql = format!("grant create on database {ident} to postgres");
        admin
            .batch_execute(&sql)
            .await
            .expect("the owner may create");
        Self {
            target: server.admin().database(&name),
            name,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The superuser on this database.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// A connection of the administrating role.
    pub async fn admin(&self) -> Client {
        connect(&self.target).await
    }

    /// A connection that has assumed a role.
    pub async fn connect_as(&self, role: &str) -> Client {
        let client = self.admin().await;
        let sql = format!("set role {}", QuotedIdent::new(role));
        client.batch_execute(&sql).await.expect("the role exists");
        client
    }
}

async fn make_template() {
    let maintenance = TestServer::shared().await.admin();
    let mut admin = connect(&maintenance).await;
    prepare_cluster(&mut admin).await.expect("the shared roles");
    let sql = format!("create database {TEMPLATE} template template0 encoding 'UTF8'");
    admin.batch_execute(&sql).await.expect("the template");
    let sql = format!("grant create on database {TEMPLATE} to postgres");
    admin
        .batch_execute(&sql)
        .await
        .expect("the owner may create");
    let mut inside = connect(&maintenance.database(TEMPLATE)).await;
    migrate::migrate(&mut inside, &system_schemas())
        .await
        .expect("the system schemas");
}

async fn connect(target: &Target) -> Client {
    target.connect().await.expect("the test server answers")
}
