//! Data: tables with rows, sequence values, large objects.

use plinth_db::QuotedLiteral;
use tokio_postgres::Client;

use crate::DumpError;

/// A table whose rows are dumped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableData {
    /// The qualified, quoted name.
    pub name: String,
    /// Its columns without generated ones, quoted and separated by commas.
    pub columns: String,
    /// For an extension's configuration table: the condition that selects the user's rows.
    pub condition: Option<String>,
    /// Whether a superuser owns it, so that no other role's functions are called by its checks.
    pub is_superusers: bool,
    /// Its size on disk.
    pub bytes: i64,
}

impl TableData {
    /// The `copy … to stdout` statement.
    pub fn copy_out(&self, encoding: &str) -> String {
        let encoding = QuotedLiteral::new(encoding);
        let Self { name, columns, .. } = self;
        let source = match &self.condition {
            Some(condition) => format!("(select {columns} from only {name} {condition})"),
            None => self.with_columns(),
        };
        format!("copy {source} to stdout (encoding {encoding})")
    }

    /// The `copy … from stdin` statement.
    pub fn copy_in(&self, encoding: &str) -> String {
        let encoding = QuotedLiteral::new(encoding);
        format!(
            "copy {} from stdin (encoding {encoding})",
            self.with_columns()
        )
    }

    /// A table without columns may still have rows, but no column list.
    fn with_columns(&self) -> String {
        match self.columns.as_str() {
            "" => self.name.clone(),
            columns => format!("{} ({columns})", self.name),
        }
    }
}

/// The current value of a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SequenceValue {
    /// The qualified, quoted name.
    pub name: String,
    /// Its last value.
    pub last_value: i64,
    /// Whether that value was already returned by `nextval`.
    pub is_called: bool,
}

impl SequenceValue {
    /// The statement that sets it.
    pub fn sql(&self) -> String {
        format!(
            "select pg_catalog.setval({}, {}, {});",
            QuotedLiteral::new(&self.name),
            self.last_value,
            self.is_called
        )
    }
}

/// A large object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LargeObject {
    /// Its OID, which rows refer to.
    pub id: u32,
}

/// Tables with rows of their own. Locks them against schema changes until the transaction ends, after
/// waiting for open ones.
pub(crate) async fn lock_and_list(client: &Client) -> Result<Vec<TableData>, DumpError> {
    let sql = "select format('%I.%I', n.nspname, c.relname)
               from pg_class c
               join pg_namespace n on n.oid = c.relnamespace
               where c.oid >= 16384 and c.relkind in ('r', 'p') and c.relpersistence <> 't'
               order by 1";
    let tables: Vec<String> = client
        .query(sql, &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    for names in tables.chunks(100) {
        let sql = format!(
            "lock table only {} in access share mode",
            names.join(", only ")
        );
        if let Err(error) = client.batch_execute(&sql).await {
            return Err(match error.code().map(|code| code.code()) {
                Some("55P03") => DumpError::Locked("waited half a minute".to_owned()),
                _ => error.into(),
            });
        }
    }
    let rows = client
        .query(include_str!("catalog/sql/table_rows.sql"), &[])
        .await?;
    let table = |row: &tokio_postgres::Row| TableData {
        name: row.get("name"),
        columns: row.get("columns"),
        condition: row.get("condition"),
        is_superusers: row.get("is_superusers"),
        bytes: row.get("bytes"),
    };
    Ok(rows.iter().map(table).collect())
}

/// Sequences are not transactional, so they are read after the snapshot was taken and are never behind
/// it.
pub(crate) async fn sequence_values(client: &Client) -> Result<Vec<SequenceValue>, DumpError> {
    let sql = include_str!("catalog/sql/sequence_names.sql");
    let mut values = Vec::new();
    let names: Vec<String> = client
        .query(sql, &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    for names in names.chunks(100) {
        let parts: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(at, name)| format!("select {at}::int4 as at, last_value, is_called from {name}"))
            .collect();
        for row in client.query(&parts.join(" union all "), &[]).await? {
            let at = usize::try_from(row.get::<_, i32>("at")).unwrap_or_default();
            values.push(SequenceValue {
                name: names[at].clone(),
                last_value: row.get("last_value"),
                is_called: row.get("is_called"),
            });
        }
    }
    Ok(values)
}

pub(crate) async fn large_objects(client: &Client) -> Result<Vec<LargeObject>, DumpError> {
    let sql = "select oid from pg_largeobject_metadata order by oid";
    let rows = client.query(sql, &[]).await?;
    Ok(rows
        .iter()
        .map(|row| LargeObject { id: row.get(0) })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &str, condition: Option<&str>) -> TableData {
        TableData {
            name: "public.\"T\"".to_owned(),
            columns: columns.to_owned(),
            condition: condition.map(str::to_owned),
            is_superusers: false,
            bytes: 0,
        }
    }

    #[test]
    fn rows_travel_by_column_name() {
        let table = table("id, \"Name\"", None);
        assert_eq!(
            table.copy_out("UTF8"),
            "copy public.\"T\" (id, \"Name\") to stdout (encoding 'UTF8')"
        );
        assert_eq!(
            table.copy_in("UTF8"),
            "copy public.\"T\" (id, \"Name\") from stdin (encoding 'UTF8')"
        );
    }

    #[test]
    fn a_table_without_columns_has_no_list() {
        assert_eq!(
            table("", None).copy_out("UTF8"),
            "copy public.\"T\" to stdout (encoding 'UTF8')"
        );
    }

    #[test]
    fn of_an_extensions_table_only_the_users_rows_travel() {
        assert_eq!(
            table("id", Some("WHERE id > 7")).copy_out("UTF8"),
            "copy (select id from only public.\"T\" WHERE id > 7) to stdout (encoding 'UTF8')"
        );
    }

    #[test]
    fn a_sequence_keeps_whether_its_value_was_used() {
        let value = SequenceValue {
            name: "public.\"it's\"".to_owned(),
            last_value: 7,
            is_called: false,
        };
        assert_eq!(
            value.sql(),
            "select pg_catalog.setval('public.\"it''s\"', 7, false);"
        );
    }
}
