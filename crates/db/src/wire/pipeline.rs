//! Statements that leave together and end in one `Sync`.
//!
//! After an error the server skips what follows, up to the `Sync`, and says once that it is ready
//! again. So the first error is the only one, and what came before it has happened.

use bytes::BytesMut;
use postgres_protocol::{
    IsNull,
    message::frontend::{self, BindError},
};
use postgres_types::{Format, ToSql};

use super::{
    common::Common,
    connection::Connection,
    exchange::{Asks, Naming, Part},
    statements::{Familiarity, Prepared},
};
use crate::{DbError, Literal, LocalSettings, Params, Row};

const STATEMENT: u8 = b'S';
const PORTAL: u8 = b'P';
const TEXT: i16 = 0;
const BINARY: i16 = 1;

/// What a statement gave.
#[derive(Default)]
pub(crate) struct Reply {
    pub(crate) rows: Vec<Row>,
    pub(crate) touched: u64,
}

/// Statements on their way. Nothing leaves before [`Pipeline::run`].
pub(crate) struct Pipeline<'c> {
    connection: &'c mut Connection,
    parts: Vec<Part>,
    /// Whether the statements around the request get names.
    may_prepare: bool,
    /// Where its messages begin among those that are queued.
    start: usize,
    is_sent: bool,
}

impl<'c> Pipeline<'c> {
    pub(super) fn new(connection: &'c mut Connection) -> Self {
        let out = &mut connection.channel.outgoing;
        for name in connection.statements.dropped.drain(..) {
            // A name of ours has no zero byte, the only thing that could be wrong.
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

    /// Gives no names, which a pooler between us and the server may mix up.
    pub(crate) fn without_names(mut self) -> Self {
        self.may_prepare = false;
        self
    }

    pub(crate) fn recall(&mut self, role: &str, sql: &str) -> Familiarity {
        self.connection.statements.recall(role, sql)
    }

    /// One of the statements around a request.
    pub(crate) fn common(&mut self, common: Common) -> Result<(), DbError> {
        self.common_with(common, [])
    }

    /// The settings of a transaction, if there are any.
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
        let common = match self.may_prepare {
            true => common,
            false => common.unnamed(),
        };
        let is_known = self.connection.known.contains(&common);
        let name = common.name();
        let mut part = Part::new(Asks::Nothing);
        part.is_prepared = is_known;
        let out = &mut self.connection.channel.outgoing;
        if !is_known {
            frontend::parse(name, &common.sql, [], out).map_err(unspeakable)?;
            part.names = Some(Naming::Common(common));
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

    /// Has the server take a statement in, and tell about its parameters and columns.
    pub(crate) fn prepare(&mut self, role: &str, sql: &str) -> Result<(), DbError> {
        let part = self.parse_and_describe(role, sql, Asks::Description)?;
        self.parts.push(part);
        Ok(())
    }

    /// A prepared statement with values of Rust types.
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
        self.execute(Part::of(Asks::Rows, prepared.columns.clone()))
    }

    /// A statement of literals that is prepared already.
    pub(crate) fn literals(
        &mut self,
        prepared: &Prepared,
        values: &[Literal<'_>],
    ) -> Result<(), DbError> {
        self.bind_literals(&prepared.name, values)?;
        self.execute(Part::of(Asks::Rows, prepared.columns.clone()))
    }

    /// A statement of literals that is prepared and run at once.
    pub(crate) fn prepared_literals(
        &mut self,
        role: &str,
        sql: &str,
        values: &[Literal<'_>],
    ) -> Result<(), DbError> {
        let part = self.parse_and_describe(role, sql, Asks::Rows)?;
        self.bind_literals(part.name(), values)?;
        self.execute(part)
    }

    /// A statement of literals that is not worth a name.
    pub(crate) fn one_shot(&mut self, sql: &str, values: &[Literal<'_>]) -> Result<(), DbError> {
        let types = values.iter().map(|value| value.declared_type().oid());
        let out = &mut self.connection.channel.outgoing;
        frontend::parse("", sql, types, out).map_err(unspeakable)?;
        self.bind_literals("", values)?;
        let out = &mut self.connection.channel.outgoing;
        frontend::describe(PORTAL, "", out).map_err(unspeakable)?;
        self.execute(Part::new(Asks::Rows))
    }

    /// Notes that a statement ran, so that it is worth preparing next time.
    pub(crate) fn remember(&mut self, role: &str, sql: &str) {
        self.connection.statements.keep(role, sql, None);
    }

    /// Sends everything and gives what the statements gave, but for those around the request.
    pub(crate) async fn run(mut self) -> Result<Vec<Reply>, DbError> {
        frontend::sync(&mut self.connection.channel.outgoing);
        self.is_sent = true;
        let parts = std::mem::take(&mut self.parts);
        self.connection.exchange(parts).await
    }

    fn parse_and_describe(&mut self, role: &str, sql: &str, asks: Asks) -> Result<Part, DbError> {
        let name = self.connection.statements.new_name();
        let out = &mut self.connection.channel.outgoing;
        frontend::parse(&name, sql, [], out).map_err(unspeakable)?;
        frontend::describe(STATEMENT, &name, out).map_err(unspeakable)?;
        let mut part = Part::new(asks);
        part.names = Some(Naming::LookedUp {
            role: role.into(),
            sql: sql.into(),
            name,
        });
        Ok(part)
    }

    fn bind_literals(&mut self, name: &str, values: &[Literal<'_>]) -> Result<(), DbError> {
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
            [BINARY],
            out,
        ))
    }

    fn execute(&mut self, part: Part) -> Result<(), DbError> {
        let out = &mut self.connection.channel.outgoing;
        frontend::execute("", 0, out).map_err(unspeakable)?;
        self.parts.push(part);
        Ok(())
    }
}

impl Drop for Pipeline<'_> {
    /// What could not be said to its end is not begun.
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
        BindError::Serialization(error) => unspeakable(error),
    })
}

/// The protocol has no way to say it: a zero byte in a text, or too many parameters.
fn unspeakable(error: std::io::Error) -> DbError {
    DbError::Misuse(error.to_string())
}
