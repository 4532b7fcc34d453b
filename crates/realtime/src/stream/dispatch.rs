//! What becomes of each message of the stream: rows of `realtime.messages` are broadcast, row changes
//! of published tables go to `delivery`, and other nodes receive what concerns them.

use std::sync::Arc;

use plinth_db::{
    DbError,
    replication::{
        Lsn, WalData,
        pgoutput::{Message, Relation, Tuple},
    },
};

use super::{messages::MessageColumns, progress::RowKind, task::Task};
use crate::{
    cluster::WalPiece,
    config::RealtimeConfig,
    delivery::{Operation, RowChange},
    protocol::{Broadcast, TOPIC_PREFIX},
};

/// A table whose rows arrive.
pub(super) enum KnownTable {
    /// A partition of `realtime.messages`.
    Messages(MessageColumns),
    /// A table of the publication `supabase_realtime`.
    Users(Arc<Relation>),
}

fn decode(data: bytes::Bytes) -> Result<Message, DbError> {
    Message::decode(data).map_err(|error| DbError::Lost(error.to_string()))
}

/// The oid of the table of a row message.
fn table_of(message: &Message) -> Option<u32> {
    match message {
        Message::Insert(insert) => Some(insert.relation),
        Message::Update(update) => Some(update.relation),
        Message::Delete(delete) => Some(delete.relation),
        Message::Begin(_) | Message::Commit(_) | Message::Relation(_) | Message::Other(_) => None,
    }
}

impl Task {
    /// A message that this node has read from the slot.
    pub(super) async fn handle_wal(&mut self, data: WalData) -> Result<(), DbError> {
        let message = decode(data.data.clone())?;
        if let Some(writer) = &mut self.writer {
            writer.wait_for_capacity().await;
        }
        self.relay(&data, &message);
        self.handle_message(data.position, message, data.data.len())
            .await
    }

    /// A message that another node has read from the slot.
    pub(super) async fn handle_relayed(&mut self, piece: WalPiece) -> Result<(), DbError> {
        let message = decode(piece.data.clone())?;
        match message {
            // Repeated for a new follower, and nothing new to this one.
            Message::Relation(relation) if piece.is_repeated && self.knows(&relation) => Ok(()),
            message => {
                self.handle_message(piece.position, message, piece.data.len())
                    .await
            }
        }
    }

    fn knows(&self, relation: &Relation) -> bool {
        let known = self.user_table(relation.oid);
        known.is_some_and(|known| *known == *relation)
    }

    /// Relays a message to other nodes, unless it is about `realtime.messages`, whose rows they
    /// receive as broadcasts.
    fn relay(&mut self, data: &WalData, message: &Message) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let (is_relayed, ends_transaction) = match message {
            Message::Begin(_) => (true, false),
            Message::Commit(_) => (true, true),
            Message::Relation(relation) => {
                let is_of_users = MessageColumns::find(relation).is_none();
                if is_of_users {
                    writer.keep_relation(relation.oid, data);
                }
                (is_of_users, false)
            }
            Message::Insert(_) | Message::Update(_) | Message::Delete(_) => {
                let table = table_of(message).and_then(|table| self.tables.get(&table));
                (matches!(table, Some(KnownTable::Users(_))), false)
            }
            Message::Other(_) => (false, false),
        };
        if is_relayed {
            writer.relay(data.position, data.data.clone(), ends_transaction);
        }
    }

    async fn handle_message(
        &mut self,
        position: Lsn,
        message: Message,
        size: usize,
    ) -> Result<(), DbError> {
        if let Some(table) = table_of(&message) {
            let kind = match self.tables.get(&table) {
                Some(KnownTable::Messages(_)) => RowKind::Messages,
                Some(KnownTable::Users(_)) | None => RowKind::Users,
            };
            if self.progress.is_next_row_duplicate(kind) {
                return Ok(());
            }
        }
        match message {
            Message::Begin(begin) => {
                self.committed_at = begin.committed_at;
                self.transaction = begin.xid;
                self.progress.begin(begin.commit_position);
            }
            Message::Commit(_) => {
                self.progress.commit();
                self.received = self.received.max(position);
                if let Some(lag) = &self.lag {
                    lag.record_commit(position, self.committed_at);
                }
                self.delivery.commit(position);
            }
            Message::Relation(relation) => self.handle_relation(relation),
            Message::Insert(insert) => match self.tables.get(&insert.relation) {
                Some(KnownTable::Messages(columns)) => self.broadcast(*columns, &insert.new),
                Some(KnownTable::Users(relation)) => {
                    let relation = relation.clone();
                    self.deliver(relation, Operation::Insert(insert.new), size)
                        .await;
                }
                None => {}
            },
            Message::Update(update) => {
                if let Some(relation) = self.user_table(update.relation) {
                    let (old, new) = (update.old, update.new);
                    self.deliver(relation, Operation::Update { old, new }, size)
                        .await;
                }
            }
            Message::Delete(delete) => {
                if let Some(relation) = self.user_table(delete.relation) {
                    self.deliver(relation, Operation::Delete(delete.old), size)
                        .await;
                }
            }
            Message::Other(_) => {}
        }
        Ok(())
    }

    fn user_table(&self, oid: u32) -> Option<Arc<Relation>> {
        match self.tables.get(&oid)? {
            KnownTable::Users(relation) => Some(relation.clone()),
            KnownTable::Messages(_) => None,
        }
    }

    fn handle_relation(&mut self, relation: Relation) {
        let oid = relation.oid;
        let table = match MessageColumns::find(&relation) {
            Some(columns) => KnownTable::Messages(columns),
            None => {
                self.delivery.invalidate_table(oid);
                KnownTable::Users(Arc::new(relation))
            }
        };
        self.tables.insert(oid, table);
    }

    async fn deliver(&mut self, relation: Arc<Relation>, operation: Operation, size: usize) {
        if !self.hub.subscriptions.has(relation.oid) {
            return;
        }
        let change = RowChange {
            relation,
            committed_at: self.committed_at,
            transaction: self.transaction,
            operation,
        };
        self.delivery.change(change, size).await;
    }

    /// Broadcasts a row of `realtime.messages`.
    fn broadcast(&self, columns: MessageColumns, row: &Tuple) {
        let config = self.project.config::<RealtimeConfig>();
        let Some(message) = columns.read(row) else {
            tracing::warn!(
                code = "UnableToBroadcastChanges",
                "skipping a row of realtime.messages: topic, event, id or payload is missing"
            );
            return;
        };
        if message.broadcast.body.len() > config.max_payload_bytes {
            tracing::warn!(code = "UnableToBroadcastChanges", id = %message.id,
                "dropping a row of realtime.messages: payload over the size limit");
            return;
        }
        if self.hub.events_per_second() >= config.max_events {
            tracing::warn!(code = "MessagePerSecondRateLimitReached", id = %message.id,
                "dropping a row of realtime.messages: over the event rate limit");
            return;
        }
        self.hub
            .metrics
            .record_message_latency(self.committed_at, message.inserted_at);
        let topic = format!("{TOPIC_PREFIX}{}", message.sub_topic);
        let broadcast = Broadcast::User(message.broadcast);
        self.hub.stream.record_transaction(self.transaction);
        self.hub
            .broadcast_from_database(&topic, message.is_private, &broadcast, &message.id);
    }
}
