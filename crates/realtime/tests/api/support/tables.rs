//! Tables and subscriptions to their changes.

use serde_json::{Value, json};

use super::{Socket, TestRealtime};
use crate::support::Sql;

impl TestRealtime {
    /// Runs DDL and publishes a table.
    pub(crate) async fn publish(&self, table: &str, ddl: &str) {
        let publish = format!("{ddl}; alter publication supabase_realtime add table {table}");
        self.execute(&publish).await;
    }
}

impl Socket {
    /// Subscribes to row changes and waits until they arrive. Returns the ids of the entries.
    pub(crate) async fn subscribe(
        &mut self,
        reference: &str,
        topic: &str,
        entries: Value,
    ) -> Vec<Value> {
        self.subscribe_as(reference, topic, entries, None).await
    }

    pub(crate) async fn subscribe_as(
        &mut self,
        reference: &str,
        topic: &str,
        entries: Value,
        token: Option<&str>,
    ) -> Vec<Value> {
        let ids = self.join_changes(reference, topic, entries, token).await;
        let system = self.next().await;
        assert_eq!(system[3], "system", "{system}");
        assert_eq!(system[4]["message"], "Subscribed to PostgreSQL", "{system}");
        assert_eq!(system[4]["status"], "ok");
        assert_eq!(system[4]["extension"], "postgres_changes");
        ids
    }

    /// Joins with `postgres_changes`. Returns the ids of the entries.
    pub(crate) async fn join_changes(
        &mut self,
        reference: &str,
        topic: &str,
        entries: Value,
        token: Option<&str>,
    ) -> Vec<Value> {
        let payload = json!({
            "config": {"postgres_changes": entries},
            "access_token": token,
        });
        let reply = self.join(reference, topic, payload).await;
        assert_eq!(reply["status"], "ok", "{reply}");
        let entries = reply["response"]["postgres_changes"].as_array().cloned();
        let entries = entries.expect("entries").into_iter();
        entries.map(|entry| entry["id"].clone()).collect()
    }

    /// The payload of the next frame, which must be a row change.
    pub(crate) async fn change(&mut self) -> Value {
        let frame = self.next().await;
        assert_eq!(frame[3], "postgres_changes", "{frame}");
        assert_eq!((&frame[0], &frame[1]), (&Value::Null, &Value::Null));
        frame[4].clone()
    }

    /// The new row of the next row change.
    pub(crate) async fn record(&mut self) -> Value {
        self.change().await["data"]["record"].clone()
    }
}
