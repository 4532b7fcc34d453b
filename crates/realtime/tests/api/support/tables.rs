//! Tables whose changes are listened to.

use serde_json::{Value, json};

use super::{Socket, TestRealtime};

impl TestRealtime {
    /// Runs DDL and publishes a table.
    pub(crate) async fn publish(&self, table: &str, ddl: &str) {
        let publish = format!("{ddl}; alter publication supabase_realtime add table {table}");
        self.execute(&publish).await;
    }
}

impl Socket {
    /// Joins, asks for row changes and waits until they arrive. Gives the numbers of the entries.
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
        let ids = self.ask(reference, topic, entries, token).await;
        let said = self.next().await;
        assert_eq!(said[3], "system", "{said}");
        assert_eq!(said[4]["message"], "Subscribed to PostgreSQL", "{said}");
        assert_eq!(said[4]["status"], "ok");
        assert_eq!(said[4]["extension"], "postgres_changes");
        ids
    }

    /// Joins and asks for row changes.
    pub(crate) async fn ask(
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
        let answer = self.join(reference, topic, payload).await;
        assert_eq!(answer["status"], "ok", "{answer}");
        let entries = answer["response"]["postgres_changes"].as_array().cloned();
        let entries = entries.expect("entries").into_iter();
        entries.map(|entry| entry["id"].clone()).collect()
    }

    /// The next frame must be a row change; gives its payload.
    pub(crate) async fn change(&mut self) -> Value {
        let frame = self.next().await;
        assert_eq!(frame[3], "postgres_changes", "{frame}");
        assert_eq!((&frame[0], &frame[1]), (&Value::Null, &Value::Null));
        frame[4].clone()
    }

    /// The next row change's new row.
    pub(crate) async fn record(&mut self) -> Value {
        self.change().await["data"]["record"].clone()
    }
}
