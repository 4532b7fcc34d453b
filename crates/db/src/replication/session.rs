//! A session that understands commands about slots.

use crate::{
    DbError, QuotedIdent, Row, Target,
    replication::{Lsn, ReplicationStream},
    wire::{Connection, Purpose, Status, shake_hands},
};

/// How long a slot lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotLifetime {
    /// Until it is dropped.
    Permanent,
    /// As long as the session that made it.
    Temporary,
}

/// Which server answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System {
    /// What only this cluster, and copies of it, are called.
    pub id: String,
    /// Which of its histories it follows.
    pub timeline: u32,
    /// How far it has written.
    pub position: Lsn,
}

/// A replication session with one database, at rest. Dropped, it is closed.
pub struct Replication {
    connection: Connection,
}

impl Replication {
    /// Opens one. The login role needs REPLICATION, or to be a superuser.
    pub async fn connect(target: &Target) -> Result<Self, DbError> {
        let connection = shake_hands(target, Purpose::Replication).await?;
        Ok(Self { connection })
    }

    pub(super) fn resume(connection: Connection) -> Self {
        Self { connection }
    }

    /// Which server this is, and how far it has written.
    pub async fn identify(&mut self) -> Result<System, DbError> {
        let row = self.ask("IDENTIFY_SYSTEM").await?;
        Ok(System {
            id: text(&row, "systemid")?,
            timeline: text(&row, "timeline")?.parse().map_err(misread)?,
            position: text(&row, "xlogpos")?.parse().map_err(misread)?,
        })
    }

    /// Makes a slot for `pgoutput`; gives where its changes begin. The server waits for all
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
        let row = self.ask(&sql).await?;
        text(&row, "consistent_point")?.parse().map_err(misread)
    }

    /// Drops a slot, once nobody reads from it.
    pub async fn drop_slot(&mut self, slot: &str) -> Result<(), DbError> {
        let slot = QuotedIdent::new(slot);
        self.run(&format!("DROP_REPLICATION_SLOT {slot} WAIT"))
            .await
            .map(drop)
    }

    /// Follows a slot from where its reader has confirmed to be. A server that stops may forget
    /// what was confirmed last; a reader that has not says so with `from`, and [`Lsn::ZERO`] leaves
    /// it to the slot.
    pub async fn start(
        self,
        slot: &str,
        publications: &[&str],
        from: Lsn,
    ) -> Result<ReplicationStream, DbError> {
        self.at_rest()?;
        let command = start_command(slot, publications, from);
        let copying = self.connection.copy_both(&command).await?;
        Ok(ReplicationStream::new(copying, from))
    }

    async fn ask(&mut self, command: &str) -> Result<Row, DbError> {
        let rows = self.run(command).await?;
        let row = rows.into_iter().next();
        row.ok_or_else(|| misread(format!("{command} gave nothing")))
    }

    async fn run(&mut self, command: &str) -> Result<Vec<Row>, DbError> {
        self.at_rest()?;
        self.connection.simple_query(command).await
    }

    /// After a command that nobody waited for, the answers would be mixed up.
    fn at_rest(&self) -> Result<(), DbError> {
        match self.connection.status() {
            Status::Idle => Ok(()),
            Status::InTransaction | Status::Working | Status::Broken => {
                Err(DbError::Lost("a command was given up".to_owned()))
            }
        }
    }
}

/// In these commands a backslash is a character like any other.
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
    let bytes = bytes.ok_or_else(|| misread(format!("there is no {column}")))?;
    String::from_utf8(bytes.to_vec()).map_err(misread)
}

fn misread(error: impl ToString) -> DbError {
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
