//! A pipeline of statements that ends in one `Sync`.
//!
//! After an error the server skips everything up to the `Sync` and becomes ready again: there is only
//! one error, and the statements before it have run.

use bytes::BytesMut;
use postgres_protocol::{
    IsNull,
    message::frontend::{self, BindError},
};
use postgres_types::{Format, ToSql};

use super::{
    common::Common,
    connection::Connection,
    exchange::{CacheKey, Expect, Part},
    statements::{CacheLookup, Prepared},
};
use crate::{DbError, Literal, LocalSettings, Params, Row};

const STATEMENT: u8 = b'S';
const PORTAL: u8 = b'P';
const TEXT: i16 = 0;
const BINARY: i16 = 1;

/// Response to one statement.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) rows: Vec<Row>,
    pub(crate) affected: u64,
}

/// Queued statements. Nothing is sent before [`Pipeline::run`].
pub(crate) struct Pipeline<'c> {
    connection: &'c mut Connection,
    parts: Vec<Part>,
    /// Whether the statements around the request are prepared by name.
    may_prepare: bool,
    /// Where its messages begin in the output queue.
    start: usize,
    is_sent: bool,
}

impl<'c> Pipeline<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        let out = &mut connection.channel.outgoing;
        for name in connection.statements.dropped.drain(..) {
            // Our names contain no NUL, the only possible error.
            _ = frontend::close(STATEMENT, &name, out);
        }
        let start = out.len();
        Self {
            connection,
            parts: Vec::with_capacity(4),
            may_prepare: true,
            start,
            is_sent: false,
        }
    }

    /// Avoids prepared names, which a connection pooler between us and the server may mix up.
    pub(crate) fn without_names(mut self) -> Self {
        self.may_prepare = false;
        self
    }

    pub(crate) fn lookup(&mut self, role: &str, sql: &str) -> CacheLookup {
        self.connection.statements.lookup(role, sql)
    }

    /// Queues one of the statements around a request.
    pub(crate) fn common(&mut self, common: Common) -> Result<(), DbError> {
        self.common_with(common, [])
    }

    /// Queues the settings of a transaction, if there are any.
    pub(crate) fn settings(&mut self, settings: &LocalSettings<'_>) -> Result<(), DbError> {
        match settings.len() {
            0 => Ok(()),
            count => self.common_with(Common::settings(count), settings.texts()),
        }
    }

    fn common_with<'t>(
        &mut self,
        common: Common,
        texts: impl IntoIterator<Item = &'t str>,
    ) -> Result<(), DbError> {
        let common = if self.may_prepare {
            common
        } else {
            common.unnamed()
        };
        let is_known = self.connection.common.contains(&common);
        let name = common.name();
        let mut part = Part::new(Expect::Nothing);
        part.is_prepared = is_known;
        let out = &mut self.connection.channel.outgoing;
        if !is_known {
            frontend::parse(name, &common.sql, [], out).map_err(encode_error)?;
            part.names = Some(CacheKey::Common(common));
        }
        let value = |text: &str, out: &mut BytesMut| {
            out.extend_from_slice(text.as_bytes());
            Ok(IsNull::No)
        };
        bound(frontend::bind(
            "",
            name,
            [TEXT],
            texts,
            value,
            [BINARY],
            out,
        ))?;
        self.execute(part)
    }

    /// Queues the preparation of a statement, with a description of its parameters and columns.
    pub(crate) fn prepare(&mut self, role: &str, sql: &str) -> Result<(), DbError> {
        let part = self.parse_and_describe(role, sql, Expect::Description)?;
        self.parts.push(part);
        Ok(())
    }

    /// Queues a prepared statement with values of Rust types.
    pub(crate) fn typed(&mut self, prepared: &Prepared, params: Params<'_>) -> Result<(), DbError> {
        let (expected, given) = (prepared.parameters.len(), params.len());
        if expected != given {
            let text = format!("the statement has {expected} parameters, not {given}");
            return Err(DbError::Misuse(text));
        }
        let values = || params.iter().zip(&prepared.parameters);
        let formats = values().map(|(param, type_)| format_of(param.encode_format(type_)));
        let value = |(param, type_): (&&(dyn ToSql + Sync), _), out: &mut BytesMut| {
            Ok(match param.to_sql_checked(type_, out)? {
                postgres_types::IsNull::Yes => IsNull::Yes,
                postgres_types::IsNull::No => IsNull::No,
            })
        };
        let out = &mut self.connection.channel.outgoing;
        let name = &prepared.name;
        bound(frontend::bind(
            "",
            name,
            formats,
            values(),
            value,
            [BINARY],
            out,
        ))?;
        self.execute(Part::of(Expect::Rows, prepared.columns.clone()))
    }

    /// Queues a prepared statement with literals.
    pub(crate) fn literals(
        &mut self,
        prepared: &Prepared,
        values: &[Literal<'_>],
    ) -> Result<(), DbError> {
        self.bind_literals(&prepared.name, values, BINARY)?;
        self.execute(Part::of(Expect::Rows, prepared.columns.clone()))
    }

    /// Queues a statement with literals, preparing it by name first.
    pub(crate) fn prepared_literals(
        &mut self,
        role: &str,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<(), DbError> {
        let part = self.parse_and_describe(role, sql, Expect::Rows)?;
        self.bind_literals(part.name(), values, BINARY)?;
        self.execute(part)
    }

    /// Queues a statement with literals, unnamed.
    pub(crate) fn one_shot(&mut self, sql: &str, values: &[Literal<'_>]) -> Result<(), DbError> {
        self.unnamed(sql, values, BINARY)
    }

    /// The same, with all results as texts, whatever their types.
    pub(crate) fn one_shot_texts(
        &mut self,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<(), DbError> {
        self.unnamed(sql, values, TEXT)
    }

    fn unnamed(&mut self, sql: &str, values: &[Literal<'_>], results: i16) -> Result<(), DbError> {
        let types = values.iter().map(|value| value.declared_type().oid());
        let out = &mut self.connection.channel.outgoing;
        frontend::parse("", sql, types, out).map_err(encode_error)?;
        self.bind_literals("", values, results)?;
        let out = &mut self.connection.channel.outgoing;
        frontend::describe(PORTAL, "", out).map_err(encode_error)?;
        self.execute(Part::new(Expect::Rows))
    }

    /// Records that a statement ran once, so that it is prepared at its next use.
    pub(crate) fn mark_seen(&mut self, role: &str, sql: &str) {
        self.connection.statements.keep(role, sql, None);
    }

    /// Sends the pipeline and returns the responses, without those of the statements around it.
    pub(crate) async fn run(mut self) -> Result<Vec<Reply>, DbError> {
        frontend::sync(&mut self.connection.channel.outgoing);
        self.is_sent = true;
        let parts = std::mem::take(&mut self.parts);
        self.connection.exchange(parts).await
    }

    fn parse_and_describe(
        &mut self,
        role: &str,
        sql: &str,
        expects: Expect,
    ) -> Result<Part, DbError> {
        let name = self.connection.statements.new_name();
        let out = &mut self.connection.channel.outgoing;
        frontend::parse(&name, sql, [], out).map_err(encode_error)?;
        frontend::describe(STATEMENT, &name, out).map_err(encode_error)?;
        let mut part = Part::new(expects);
        part.names = Some(CacheKey::LookedUp {
            role: role.into(),
            sql: sql.into(),
            name,
        });
        Ok(part)
    }

    fn bind_literals(
        &mut self,
        name: &str,
        values: &[Literal<'_>],
        results: i16,
    ) -> Result<(), DbError> {
        let formats = values.iter().map(|value| format_of(value.format()));
        let value = |value: &Literal<'_>, out: &mut BytesMut| match value.bytes() {
            Some(bytes) => {
                out.extend_from_slice(bytes);
                Ok(IsNull::No)
            }
            None => Ok(IsNull::Yes),
        };
        let out = &mut self.connection.channel.outgoing;
        bound(frontend::bind(
            "",
            name,
            formats,
            values,
            value,
            [results],
            out,
        ))
    }

    fn execute(&mut self, part: Part) -> Result<(), DbError> {
        let out = &mut self.connection.channel.outgoing;
        frontend::execute("", 0, out).map_err(encode_error)?;
        self.parts.push(part);
        Ok(())
    }
}

impl Drop for Pipeline<'_> {
    /// Removes what was queued but not sent.
    fn drop(&mut self) {
        if !self.is_sent {
            self.connection.channel.outgoing.truncate(self.start);
        }
    }
}

fn format_of(format: Format) -> i16 {
    match format {
        Format::Text => TEXT,
        Format::Binary => BINARY,
    }
}

fn bound(bound: Result<(), BindError>) -> Result<(), DbError> {
    bound.map_err(|error| match error {
        BindError::Conversion(error) => DbError::Misuse(error.to_string()),
        BindError::Serialization(error) => encode_error(error),
    })
}

/// Not encodable: a NUL in a text, or too many parameters.
fn encode_error(error: std::io::Error) -> DbError {
    DbError::Misuse(error.to_string())
}
