//! One database at one moment.

use bytes::Bytes;
use futures_util::Stream;
use plinth_db::Target;
use tokio_postgres::Client;

use crate::{
    DatabaseProperties, DumpError, LargeObject, SequenceValue, Setting, Statement, TableData,
    catalog, data, session, settings,
};

/// Everything but the rows themselves.
#[derive(Debug, Clone)]
pub struct Dump {
    /// What `create database` needs to know.
    pub database: DatabaseProperties,
    /// What the database, and roles in it, start sessions with.
    pub settings: Vec<Setting>,
    /// In the order in which they have to run.
    pub statements: Vec<Statement>,
    /// Tables with rows.
    pub tables: Vec<TableData>,
    /// Where sequences stand.
    pub sequences: Vec<SequenceValue>,
    /// Large objects.
    pub large_objects: Vec<LargeObject>,
}

/// A transaction that sees one moment of a database, however long others go on writing.
pub struct Snapshot {
    client: Client,
    database: String,
    encoding: String,
}

/// How much of a large object travels at once.
pub(crate) const LARGE_OBJECT_PART: i32 = 1 << 20;

impl Snapshot {
    /// Fixes the moment. `target` is a superuser on the database.
    pub async fn open(target: &Target) -> Result<Self, DumpError> {
        let client = target.connect().await?;
        client.batch_execute(session::COMMON).await?;
        client.batch_execute(session::READING).await?;
        client
            .batch_execute("begin isolation level repeatable read, read only")
            .await?;
        let sql = "select pg_catalog.current_database()::text,
                          pg_catalog.current_setting('server_encoding')";
        let row = client.query_one(sql, &[]).await?;
        Ok(Self {
            database: row.get(0),
            encoding: row.get(1),
            client,
        })
    }

    /// Writes the database down. Tables cannot be altered or dropped from here on, until the
    /// snapshot ends.
    pub async fn read(&self) -> Result<Dump, DumpError> {
        let client = &self.client;
        let tables = data::lock_and_list(client).await?;
        Ok(Dump {
            database: DatabaseProperties::read(client, &self.database).await?,
            settings: settings::read_settings(client, &self.database).await?,
            statements: catalog::read(client).await?,
            tables,
            sequences: data::sequence_values(client).await?,
            large_objects: data::large_objects(client).await?,
        })
    }

    /// The encoding in which rows travel: the database's own, so that none is converted.
    pub fn encoding(&self) -> &str {
        &self.encoding
    }

    /// The rows of one table in the text format of `copy`.
    pub async fn rows(
        &self,
        table: &TableData,
    ) -> Result<impl Stream<Item = Result<Bytes, tokio_postgres::Error>> + use<>, DumpError> {
        self.client
            .copy_out(&table.copy_out(&self.encoding))
            .await
            .map_err(|error| DumpError::rows(&table.name, &error))
    }

    /// A part of a large object; empty when there is no more.
    pub async fn part(&self, object: LargeObject, offset: i64) -> Result<Vec<u8>, DumpError> {
        let sql = "select pg_catalog.lo_get($1, $2, $3)";
        let row = self
            .client
            .query_one(sql, &[&object.id, &offset, &LARGE_OBJECT_PART])
            .await?;
        Ok(row.get(0))
    }
}
