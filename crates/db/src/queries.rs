//! Statements on a connection or in a transaction, for code that works with either.

use std::future::Future;

use crate::{DbError, OpenTransaction, Params, Row, pool::PooledConnection};

/// Runs statements, which are prepared and cached.
pub trait Queries: Send {
    /// All rows.
    fn query(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> impl Future<Output = Result<Vec<Row>, DbError>> + Send;

    /// The number of affected rows.
    fn execute(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> impl Future<Output = Result<u64, DbError>> + Send;

    /// The first row, if there is one.
    fn query_opt(
        &mut self,
        sql: &str,
        params: Params<'_>,
    ) -> impl Future<Output = Result<Option<Row>, DbError>> + Send {
        async move { Ok(self.query(sql, params).await?.into_iter().next()) }
    }
}

impl Queries for PooledConnection {
    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        PooledConnection::query(self, sql, params).await
    }

    async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        PooledConnection::execute(self, sql, params).await
    }
}

impl Queries for OpenTransaction {
    async fn query(&mut self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, DbError> {
        OpenTransaction::query(self, sql, params).await
    }

    async fn execute(&mut self, sql: &str, params: Params<'_>) -> Result<u64, DbError> {
        OpenTransaction::execute(self, sql, params).await
    }
}
