//! The login roles of a project.

use plinth_db::PoolConfig;
use plinth_project::{
    Cluster, Logins, ProjectDb, ProjectRef, ProjectServer, logins, prepare_cluster,
};
use tokio::sync::OnceCell;

use crate::{Sql, TestDatabase, TestServer};

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// The ref of a project and its logins on a database, as the platform creates them.
#[derive(Clone)]
pub struct ProjectLogins {
    pub reference: ProjectRef,
    logins: Logins,
}

impl ProjectLogins {
    pub async fn create(db: &TestDatabase) -> Self {
        let cluster = cluster().await;
        let (reference, logins) = (ProjectRef::generate(), Logins::generate());
        let mut sql = logins::create_sql(cluster, &reference, &logins);
        sql.push_str(&logins::open_database_sql(cluster, &reference, db.name()));
        db.execute(&sql).await;
        Self { reference, logins }
    }

    /// Connections with these logins.
    pub async fn connect(&self, db: &TestDatabase, pool: PoolConfig) -> ProjectDb {
        let admin = TestServer::shared().await.admin();
        let server = ProjectServer::permanent(admin, cluster().await.clone());
        let (reference, logins) = (&self.reference, self.logins.clone());
        ProjectDb::new(&server, reference, db.name(), logins, pool)
    }
}

async fn cluster() -> &'static Cluster {
    let prepare = async || {
        let mut admin = TestServer::shared().await.connect().await;
        prepare_cluster(&mut admin, true)
            .await
            .expect("the shared roles")
    };
    CLUSTER.get_or_init(prepare).await
}
