//! A session for replication commands.

use crate::{
    DbError, QuotedIdent, Row, Target,
    replication::{Lsn, ReplicationStream},
    wire::{Connection, Purpose, Status, open_session},
};

/// How long a slot lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotLifetime {
    /// Until it is dropped explicitly.
    Permanent,
    /// Until the session that created it ends.
    Temporary,
}

/// Result of IDENTIFY_SYSTEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// The system identifier of the cluster and its copies.
    pub id: String,
    /// The current timeline.
    pub timeline: u32,
    /// The current WAL flush position.
    pub position: Lsn,
}

/// An idle replication session with one database. Dropping it closes it.
pub struct Replication {
    connection: Connection,
}

impl Replication {
    /// Connects. The login role needs REPLICATION, or to be a superuser.
    pub async fn connect(target: &Target) -> Result<Self, DbError> {
        let connection = open_session(target, Purpose::Replication).await?;
        Ok(Self { connection })
    }

    pub(super) fn resume(connection: Connection) -> Self {
        Self { connection }
    }

    /// Identifies the server and its WAL position.
    pub async fn identify(&mut self) -> Result<System, DbError> {
        let row = self.query_row("IDENTIFY_SYSTEM").await?;
        Ok(System {
            id: text(&row, "systemid")?,
            timeline: text(&row, "timeline")?
                .parse()
                .map_err(unexpected_response)?,
            position: text(&row, "xlogpos")?
                .parse()
                .map_err(unexpected_response)?,
        })
    }

    /// Creates a slot for `pgoutput`; returns its consistent point. The server waits for all
    /// transactions that are open at this moment.
    pub async fn create_slot(
        &mut self,
        slot: &str,
        lifetime: SlotLifetime,
    ) -> Result<Lsn, DbError> {
        let temporary = match lifetime {
            SlotLifetime::Permanent => "",
            SlotLifetime::Temporary => " TEMPORARY",
        };
        let slot = QuotedIdent::new(slot);
        let sql =
            format!("CREATE_REPLICATION_SLOT {slot}{temporary} LOGICAL pgoutput NOEXPORT_SNAPSHOT");
        let row = self.query_row(&sql).await?;
        text(&row, "consistent_point")?
            .parse()
            .map_err(unexpected_response)
    }

    /// Drops a slot that has no reader.
    pub async fn drop_slot(&mut self, slot: &str) -> Result<(), DbError> {
        let slot = QuotedIdent::new(slot);
        self.run(&format!("DROP_REPLICATION_SLOT {slot} WAIT"))
            .await
            .map(drop)
    }

    /// Streams a slot from its confirmed position. A stopped server may have lost the last confirmation;
    /// a reader that knows better passes `from`. [`Lsn::ZERO`] uses the slot's position.
    pub async fn start(
        self,
        slot: &str,
        publications: &[&str],
        from: Lsn,
    ) -> Result<ReplicationStream, DbError> {
        self.ensure_idle()?;
        let command = start_command(slot, publications, from);
        let copying = self.connection.copy_both(&command).await?;
        Ok(ReplicationStream::new(copying, from))
    }

    async fn query_row(&mut self, command: &str) -> Result<Row, DbError> {
        let rows = self.run(command).await?;
        let row = rows.into_iter().next();
        row.ok_or_else(|| unexpected_response(format!("{command} gave nothing")))
    }

    async fn run(&mut self, command: &str) -> Result<Vec<Row>, DbError> {
        self.ensure_idle()?;
        self.connection.simple_query(command).await
    }

    /// A command whose future was dropped leaves its response unread.
    fn ensure_idle(&self) -> Result<(), DbError> {
        match self.connection.status() {
            Status::Idle => Ok(()),
            Status::InTransaction | Status::Working | Status::Broken => Err(DbError::Lost(
                "the response of an earlier command was not read".to_owned(),
            )),
        }
    }
}

/// Replication commands have no escape sequences: a backslash is an ordinary character.
fn start_command(slot: &str, publications: &[&str], from: Lsn) -> String {
    let names = publications
        .iter()
        .map(|name| QuotedIdent::new(name).to_string());
    let names = names.collect::<Vec<_>>().join(",").replace('\'', "''");
    let slot = QuotedIdent::new(slot);
    format!(
        "START_REPLICATION SLOT {slot} LOGICAL {from} \
         (proto_version '1', publication_names '{names}')"
    )
}

fn text(row: &Row, column: &str) -> Result<String, DbError> {
    let bytes = row.raw(column);
    let bytes = bytes.ok_or_else(|| unexpected_response(format!("there is no {column}")))?;
    String::from_utf8(bytes.to_vec()).map_err(unexpected_response)
}

fn unexpected_response(error: impl ToString) -> DbError {
    DbError::Misuse(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_names() {
        assert_eq!(
            start_command("s", &["a", "o'b\"c\\d"], Lsn(0x1_0000_000A)),
            "START_REPLICATION SLOT \"s\" LOGICAL 1/A \
             (proto_version '1', publication_names '\"a\",\"o''b\"\"c\\d\"')"
        );
    }
}
