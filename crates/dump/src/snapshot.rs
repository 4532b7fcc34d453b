//! A consistent snapshot of one database.

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
    /// Options of `create database`.
    pub database: DatabaseProperties,
    /// Default settings of the database and of roles in it.
    pub settings: Vec<Setting>,
    /// In execution order.
    pub statements: Vec<Statement>,
    /// Tables with rows.
    pub tables: Vec<TableData>,
    /// Values of sequences.
    pub sequences: Vec<SequenceValue>,
    /// Large objects.
    pub large_objects: Vec<LargeObject>,
}

/// A repeatable-read transaction, unaffected by concurrent writes.
pub struct Snapshot {
    client: Client,
    database: String,
    encoding: String,
}

/// Chunk size for large objects.
pub(crate) const LARGE_OBJECT_CHUNK_BYTES: i32 = 1 << 20;

impl Snapshot {
    /// Takes the snapshot. `target` must be a superuser on the database.
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

    /// Reads everything but the rows. From here on, tables cannot be altered or dropped until the
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

    /// The encoding of the copied rows: the database's own, so that nothing is converted.
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

    /// A chunk of a large object; empty at its end.
    pub async fn part(&self, object: LargeObject, offset: i64) -> Result<Vec<u8>, DumpError> {
        let sql = "select pg_catalog.lo_get($1, $2, $3)";
        let row = self
            .client
            .query_one(sql, &[&object.id, &offset, &LARGE_OBJECT_CHUNK_BYTES])
            .await?;
        Ok(row.get(0))
    }
}
