//! `GET /platform/projects/{ref}/search`: objects of a project by a part of their name, for the console's
//! palette (console contract N24).
//!
//! What is in the database is searched with the operator's own role, so it shows no more than that
//! role may read; the rest needs the rights to configure the project.

use axum::{Json, extract::State};
use plinth_project::{DatabaseAccess, OperatorSession, Project};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Operator,
    body::{Params, Segments},
};
use crate::{Platform, PlatformError};

const DEFAULT_LIMIT: i64 = 10;
const MAX_LIMIT: i64 = 50;
const MAX_QUERY_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchParams {
    /// Required: a part of a name, in any case; of users also the id.
    #[serde(default)]
    q: Option<String>,
    /// How many of each kind; 10 when absent.
    #[serde(default)]
    limit: Option<i64>,
}

/// What was found, by kind.
#[derive(Serialize, JsonSchema)]
pub(super) struct SearchBody {
    results: Vec<FoundBody>,
}

/// Something that was found.
#[derive(Serialize, JsonSchema)]
pub(super) struct FoundBody {
    /// `table`, `view`, `column`, `database_function`, `bucket`, `user`, `function` or `setting`.
    kind: &'static str,
    name: String,
    /// What it is addressed by: the oid of what is in the database, of a column that of its table;
    /// otherwise an id or the name.
    id: String,
    /// The schema of objects in the database.
    schema: Option<String>,
    /// The table of a column.
    detail: Option<String>,
}

/// `$1` is a pattern, `$2` the limit. Names that begin with the text come first, then shorter ones.
const IN_DATABASE: [(&str, &str); 4] = [
    (
        "relation",
        "select n.nspname::text, c.relname::text, null::text, c.oid::text, c.relkind::text
         from pg_catalog.pg_class c
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.relname ilike $1
           and n.nspname !~ '^(pg_|information_schema$)'
           and pg_catalog.has_schema_privilege(n.oid, 'usage')
           and (pg_catalog.has_table_privilege(c.oid, 'select')
                or pg_catalog.has_any_column_privilege(c.oid, 'select'))
         order by position(lower($3) in lower(c.relname)), length(c.relname), 1, 2
         limit $2",
    ),
    (
        "column",
        "select n.nspname::text, a.attname::text, c.relname::text, c.oid::text, 'c'
         from pg_catalog.pg_attribute a
         join pg_catalog.pg_class c on c.oid = a.attrelid
         join pg_catalog.pg_namespace n on n.oid = c.relnamespace
         where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f')
           and a.attname ilike $1
           and n.nspname !~ '^(pg_|information_schema$)'
           and pg_catalog.has_schema_privilege(n.oid, 'usage')
           and pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')
         order by position(lower($3) in lower(a.attname)), length(a.attname), 1, 3
         limit $2",
    ),
    (
        "database_function",
        "select n.nspname::text, p.proname::text, null::text, p.oid::text, 'f'
         from pg_catalog.pg_proc p
         join pg_catalog.pg_namespace n on n.oid = p.pronamespace
         where p.proname ilike $1
           and n.nspname !~ '^(pg_|information_schema$)'
           and pg_catalog.has_schema_privilege(n.oid, 'usage')
           and pg_catalog.has_function_privilege(p.oid, 'execute')
           and not exists (select from pg_catalog.pg_depend d
                           where d.objid = p.oid and d.deptype = 'e')
         order by position(lower($3) in lower(p.proname)), length(p.proname), 1, 2
         limit $2",
    ),
    (
        "bucket",
        "select null::text, b.name, null::text, b.id, 'b'
         from storage.buckets b
         where b.name ilike $1
         order by position(lower($3) in lower(b.name)), length(b.name), 2
         limit $2",
    ),
];

const USERS: &str =
    "select null::text, coalesce(nullif(u.email, ''), u.phone, u.id::text), null::text,
                            u.id::text, 'u'
                     from auth.users u
                     where u.deleted_at is null
                       and (u.email ilike $1 or u.phone ilike $1 or u.id::text like $1)
                     order by position(lower($3) in lower(u.email)), 2
                     limit $2";

/// `GET …/search?q=`.
pub(super) async fn search(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<SearchParams>,
) -> Result<Json<SearchBody>, PlatformError> {
    let name = operator.project_by_name(&platform, &text)?;
    let query = checked(params.q.as_deref().unwrap_or_default())?;
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let project = platform.open(&name).await?;
    let access = operator.database_access(project.reference());
    let mut found = in_database(&operator, &project, access, query, limit).await?;
    if access == DatabaseAccess::Owner {
        let lower = query.to_lowercase();
        let most = usize::try_from(limit).unwrap_or_default();
        if operator.has_scope("edge_functions_read") {
            let functions = platform.list_functions(&name).await?.into_iter();
            let matching = functions.filter(|it| it.slug.to_lowercase().contains(&lower));
            found.extend(
                matching
                    .take(most)
                    .map(|function| FoundBody::named("function", function.slug)),
            );
        }
        if operator.has_scope("auth_config_read") {
            let settings = project.settings().current();
            let names = settings.list().into_iter().map(|setting| setting.name);
            let matching = names.filter(|name| name.contains(&lower)).take(most);
            found.extend(matching.map(|name| FoundBody::named("setting", name)));
        }
    }
    Ok(Json(SearchBody { results: found }))
}

impl FoundBody {
    fn named(kind: &'static str, name: String) -> Self {
        Self {
            kind,
            id: name.clone(),
            name,
            schema: None,
            detail: None,
        }
    }
}

fn checked(query: &str) -> Result<&str, PlatformError> {
    let query = query.trim();
    if query.is_empty() || query.chars().count() > MAX_QUERY_CHARS || query.contains('\0') {
        return Err(PlatformError::Invalid(format!(
            "q: expected 1 to {MAX_QUERY_CHARS} characters"
        )));
    }
    Ok(query)
}

/// Matches the text anywhere.
fn pattern(query: &str) -> String {
    let mut pattern = String::from("%");
    for c in query.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

async fn in_database(
    operator: &Operator,
    project: &Project,
    access: DatabaseAccess,
    query: &str,
    limit: i64,
) -> Result<Vec<FoundBody>, PlatformError> {
    let session = project.db.session_as_operator(access).await?;
    session
        .batch_execute("set statement_timeout = '5s'; set search_path = pg_catalog")
        .await?;
    let pattern = pattern(query);
    let mut found = Vec::new();
    for (kind, sql) in IN_DATABASE {
        if kind == "bucket" && !may_read(&session, "storage.buckets").await? {
            continue;
        }
        let rows = session.query(sql, &[&pattern, &limit, &query]).await?;
        found.extend(rows.iter().map(|row| of_row(kind, row)));
    }
    if operator.has_scope("auth_config_read") && may_read(&session, "auth.users").await? {
        let rows = session.query(USERS, &[&pattern, &limit, &query]).await?;
        found.extend(rows.iter().map(|row| of_row("user", row)));
    }
    Ok(found)
}

fn of_row(kind: &'static str, row: &tokio_postgres::Row) -> FoundBody {
    let kind = match (kind, row.get::<_, &str>(4)) {
        ("relation", "v" | "m") => "view",
        ("relation", _) => "table",
        (kind, _) => kind,
    };
    FoundBody {
        kind,
        schema: row.get(0),
        name: row.get(1),
        detail: row.get(2),
        id: row.get(3),
    }
}

async fn may_read(session: &OperatorSession, table: &str) -> Result<bool, PlatformError> {
    let sql = "select coalesce(pg_catalog.has_schema_privilege(c.relnamespace, 'usage')
                      and pg_catalog.has_table_privilege(c.oid, 'select'), false)
               from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass($1)";
    let row = session.query_opt(sql, &[&table]).await?;
    Ok(row.is_some_and(|row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_no_pattern() {
        assert_eq!(pattern("50%_a\\b"), "%50\\%\\_a\\\\b%");
        assert!(checked("  ").is_err());
        assert!(checked("a\0b").is_err());
        assert!(checked(&"x".repeat(201)).is_err());
        assert_eq!(checked(" é ").expect("a text"), "é");
    }
}
