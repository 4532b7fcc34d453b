//! Reading a database's schema.

use std::collections::HashMap;

use plinth_dump::{Catalog, CatalogObject, SESSION_SETTINGS};
use tokio_postgres::{Client, Row};

use super::{
    Column, ColumnKey, Composite, Domain, Extension, Function, Object, Owner, RightsOf, Schema,
    StartingRights, Table,
};
use crate::DiffError;

/// A catalog that takes longer is locked, or not one to compare.
const TIMEOUTS: &str = "set statement_timeout = '60s'; set lock_timeout = '10s';";

impl Schema {
    /// Reads the database of a session as it is at one moment. The session's settings are changed; it
    /// is not to be used for anything else.
    pub async fn read(client: &mut Client) -> Result<Self, DiffError> {
        client.batch_execute(SESSION_SETTINGS).await?;
        client.batch_execute(TIMEOUTS).await?;
        let transaction = client
            .build_transaction()
            .isolation_level(tokio_postgres::IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await?;
        let schema = Reader::new(transaction.client()).await?.read().await?;
        transaction.commit().await?;
        Ok(schema)
    }

    /// Reads the database as the open transaction of a session sees it, with what it changed. The
    /// session's settings are changed.
    pub async fn read_within(client: &Client) -> Result<Self, DiffError> {
        client.batch_execute(SESSION_SETTINGS).await?;
        Reader::new(client).await?.read().await
    }
}

struct Reader<'a> {
    client: &'a Client,
    catalog: Catalog,
}

impl<'a> Reader<'a> {
    async fn new(client: &'a Client) -> Result<Self, DiffError> {
        let catalog = Catalog::read(client).await?;
        Ok(Self { client, catalog })
    }

    async fn read(self) -> Result<Schema, DiffError> {
        let sql = "select current_user::text as role, quote_ident(current_user) as quoted_role, current_setting('server_version_num')::int4 as version,
                          (select rolsuper from pg_roles where rolname = current_user) as is_superuser";
        let session = self.client.query_one(sql, &[]).await?;
        let (tables, columns) = self.tables().await?;
        let rights = include_str!("sql/privileges.sql");
        let rights = self.client.query(rights, &[]).await?;
        let starting = include_str!("sql/default_privileges.sql");
        let starting = self.client.query(starting, &[]).await?;
        let (users_of_column, generated_from) = self.users_of_columns(&columns).await?;
        let columns_of_type = self.columns_of_type(&columns).await?;
        let enums = self
            .details("pg_type", include_str!("sql/enums.sql"), |row| {
                row.get("labels")
            })
            .await?;
        let composite = |row: &Row| Composite {
            names: row.get("names"),
            types: row.get("types"),
        };
        let domain = |row: &Row| Domain {
            base: row.get("base"),
            default: row.get("default_value"),
            is_not_null: row.get("is_not_null"),
        };
        let function = |row: &Row| Function {
            fixed: row.get("fixed"),
            defaults: row.get("defaults"),
        };
        let extension = |row: &Row| Extension {
            schema: row.get("schema"),
            version: row.get("version"),
        };
        let composites = self
            .details("pg_type", include_str!("sql/composites.sql"), composite)
            .await?;
        let domains = self
            .details("pg_type", include_str!("sql/domains.sql"), domain)
            .await?;
        let functions = self
            .details("pg_proc", include_str!("sql/functions.sql"), function)
            .await?;
        let views = self
            .details("pg_class", include_str!("sql/views.sql"), |row| {
                row.get("columns")
            })
            .await?;
        let extensions = self
            .details(
                "pg_extension",
                include_str!("sql/extensions.sql"),
                extension,
            )
            .await?;
        let index_parents = self.index_parents().await?;
        let rights = RightsOf::from_rows(&rights, |class, object| self.catalog.find(class, object));
        let notes = self.catalog.unsupported.clone();
        let objects = self.objects().await?;
        let mut users = vec![Vec::new(); objects.len()];
        let mut by_key = HashMap::with_capacity(objects.len());
        for (at, object) in objects.iter().enumerate() {
            by_key.insert((object.kind, object.name.clone()), at);
            for &need in &object.needs {
                users[need].push(at);
            }
        }
        Ok(Schema {
            objects,
            by_key,
            users,
            tables,
            enums,
            composites,
            domains,
            functions,
            views,
            extensions,
            columns_of_type,
            users_of_column,
            generated_from,
            index_parents,
            rights,
            starting_rights: StartingRights::from_rows(&starting),
            notes,
            role: session.get("role"),
            quoted_role: session.get("quoted_role"),
            is_superuser: session.get("is_superuser"),
            version: session.get("version"),
        })
    }

    /// The rows of a query by the object that they are about.
    async fn details<T>(
        &self,
        class: &str,
        sql: &str,
        of: impl Fn(&Row) -> T,
    ) -> Result<HashMap<usize, T>, DiffError> {
        let class = self.class(class).await?;
        let rows = self.client.query(sql, &[]).await?;
        let of_row = |row: &Row| Some((self.catalog.find(class, row.get("object"))?, of(row)));
        Ok(rows.iter().filter_map(of_row).collect())
    }

    async fn class(&self, name: &str) -> Result<u32, DiffError> {
        let sql = "select oid from pg_class where relname = $1 and relnamespace = 'pg_catalog'::regnamespace";
        Ok(self.client.query_one(sql, &[&name]).await?.get(0))
    }

    /// Tables by object, and the objects by OID.
    async fn tables(&self) -> Result<(HashMap<usize, Table>, Columns), DiffError> {
        let class = self.class("pg_class").await?;
        let rows = self
            .client
            .query(include_str!("sql/tables.sql"), &[])
            .await?;
        let mut tables = HashMap::with_capacity(rows.len());
        let mut columns = Columns::default();
        for row in &rows {
            let oid = row.get("object");
            if let Some(at) = self.catalog.find(class, oid) {
                columns.tables.insert(oid, at);
                tables.insert(at, Table::from_row(row));
            }
        }
        let rows = self
            .client
            .query(include_str!("sql/columns.sql"), &[])
            .await?;
        for row in &rows {
            let oid: u32 = row.get("object");
            let Some(table) = columns.tables.get(&oid).and_then(|at| tables.get_mut(at)) else {
                continue;
            };
            let column = Column::from_row(row);
            columns
                .names
                .insert((oid, row.get("number")), column.name.clone());
            table.columns.push(column);
        }
        Ok((tables, columns))
    }

    async fn users_of_columns(
        &self,
        columns: &Columns,
    ) -> Result<
        (
            HashMap<ColumnKey, Vec<usize>>,
            HashMap<ColumnKey, Vec<String>>,
        ),
        DiffError,
    > {
        let mut users: HashMap<_, Vec<usize>> = HashMap::new();
        let mut generated: HashMap<_, Vec<String>> = HashMap::new();
        let sql = include_str!("sql/column_users.sql");
        for row in &self.client.query(sql, &[]).await? {
            let Some(key) = columns.key(row.get("relation"), row.get("number")) else {
                continue;
            };
            if let Some(column) = row.get::<_, Option<String>>("generated") {
                generated.entry(key).or_default().push(column);
            } else if let Some(user) = self.catalog.find(row.get("class"), row.get("object"))
                && user != key.0
            {
                users.entry(key).or_default().push(user);
            }
        }
        Ok((users, generated))
    }

    async fn columns_of_type(
        &self,
        columns: &Columns,
    ) -> Result<HashMap<usize, Vec<ColumnKey>>, DiffError> {
        let class = self.class("pg_type").await?;
        let mut found: HashMap<_, Vec<ColumnKey>> = HashMap::new();
        let sql = include_str!("sql/column_types.sql");
        for row in &self.client.query(sql, &[]).await? {
            let key = columns.key(row.get("object"), row.get("number"));
            let of_type = self.catalog.find(class, row.get("type"));
            if let (Some(key), Some(of_type)) = (key, of_type) {
                found.entry(of_type).or_default().push(key);
            }
        }
        Ok(found)
    }

    async fn index_parents(&self) -> Result<HashMap<usize, usize>, DiffError> {
        let sql = include_str!("sql/index_parents.sql");
        let rows = self.client.query(sql, &[]).await?;
        let pair = |row: &Row| {
            let child = self.catalog.find(row.get("class"), row.get("object"))?;
            let parent = self
                .catalog
                .find(row.get("parent_class"), row.get("parent"))?;
            Some((child, parent))
        };
        Ok(rows.iter().filter_map(pair).collect())
    }

    async fn objects(self) -> Result<Vec<Object>, DiffError> {
        let of = &self.catalog.objects;
        let classes: Vec<u32> = of.iter().map(|object| object.class).collect();
        let ids: Vec<u32> = of.iter().map(|object| object.object).collect();
        let sql = include_str!("sql/addresses.sql");
        let rows = self.client.query(sql, &[&classes, &ids]).await?;
        let subjects: Vec<usize> = of
            .iter()
            .enumerate()
            .map(|(at, object)| match object.completes {
                true => self.catalog.find(object.class, object.object).unwrap_or(at),
                false => at,
            })
            .collect();
        let objects = self.catalog.objects.into_iter().zip(&rows).zip(subjects);
        Ok(objects
            .map(|((object, row), subject)| to_object(object, row, subject))
            .collect())
    }
}

/// Columns by the OID of their table and their number.
#[derive(Default)]
struct Columns {
    tables: HashMap<u32, usize>,
    names: HashMap<(u32, i32), String>,
}

impl Columns {
    fn key(&self, table: u32, number: i32) -> Option<ColumnKey> {
        let at = *self.tables.get(&table)?;
        Some((at, self.names.get(&(table, number))?.clone()))
    }
}

fn to_object(object: CatalogObject, row: &Row, subject: usize) -> Object {
    let mut name = object.name;
    let mut is_inherited = false;
    if object.kind == "check of the table" {
        // A mark by which those with a parent's come first.
        is_inherited = name.starts_with('0');
        name = name.get(2..).unwrap_or_default().to_owned();
    }
    let (sql, owner) = without_owner(object.kind, &name, object.sql, row.get("owner"));
    Object {
        kind: object.kind,
        name,
        sql,
        owner,
        subject,
        relation: object.relation,
        needs: object.needs,
        completes: object.completes,
        names: row.get::<_, Option<_>>("names").unwrap_or_default(),
        quoted: row.get::<_, Option<_>>("quoted").unwrap_or_default(),
        arguments: row.get::<_, Option<_>>("arguments").unwrap_or_default(),
        is_inherited,
    }
}

/// Separates the statement that sets the owner, which stands last and is known exactly.
fn without_owner(kind: &str, name: &str, sql: String, role: String) -> (String, Option<Owner>) {
    let what = match kind {
        "schema" => "schema",
        "collation" => "collation",
        "enum type" | "composite type" | "range type" => "type",
        "domain" => "domain",
        "sequence" => "sequence",
        "function" | "aggregate" => "routine",
        "conversion" => "conversion",
        "text search dictionary" => "text search dictionary",
        "text search configuration" => "text search configuration",
        "foreign-data wrapper" => "foreign data wrapper",
        "foreign server" => "server",
        "table" if sql.starts_with("create foreign") => "foreign table",
        "table" => "table",
        "view" => "view",
        "materialized view" => "materialized view",
        "statistics" => "statistics",
        "publication" => "publication",
        "event trigger" => "event trigger",
        _ => return (sql, None),
    };
    let quoted = plinth_db::QuotedIdent::new(name).to_string();
    for name in [name, &quoted] {
        let statement = format!("alter {what} {name} owner to {role};");
        if let Some(rest) = sql.strip_suffix(&statement) {
            let owner = Owner {
                role,
                sql: statement,
            };
            return (rest.trim_end().to_owned(), Some(owner));
        }
    }
    (sql, None)
}
