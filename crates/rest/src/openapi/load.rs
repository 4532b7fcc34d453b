//! Queries what the caller may see, and renders the document from it and the schema cache.

use http::request::Parts;
use plinth_db::Literal;
use plinth_project::PublicUrl;
use url::Url;

use super::{
    DocumentInput,
    privileges::{Accessible, FOLLOW_PRIVILEGES, SCHEMA_COMMENT},
    render,
};
use crate::{
    RestError,
    config::OpenApiMode,
    execute::Execution,
    response::POSTGREST_VERSION,
    schema_cache::{Routine, Table},
};

/// Where clients reach the service.
pub(crate) struct ServerAddress<'a> {
    /// Set behind a gateway.
    public: Option<Url>,
    listen: (&'a str, u16),
}

impl<'a> ServerAddress<'a> {
    /// `listen`: host and port of a service that runs alone.
    pub(crate) fn new(parts: &Parts, listen: Option<(&'a str, u16)>) -> Self {
        let public = parts.extensions.get::<PublicUrl>();
        Self {
            public: public.and_then(|url| Url::parse(&format!("{url}/rest/v1")).ok()),
            listen: listen.unwrap_or(("localhost", 80)),
        }
    }
}

/// The document; `None` for HEAD.
pub(crate) async fn load_document(
    execution: &Execution<'_>,
    address: &ServerAddress<'_>,
    is_head: bool,
) -> Result<Option<String>, RestError> {
    let (cache, config) = (&execution.snapshot.cache, &execution.snapshot.config);
    let schema = execution.request.schema.as_str();
    let params = [Literal::Text(schema.into())];
    let unexpected = |error: plinth_db::DbError| RestError::UnexpectedResult(error.to_string());
    let mut tables: Vec<&Table> = cache.tables_in(schema).collect();
    let mut routines: Vec<&Routine> = cache.routines_in(schema).collect();
    let (schema_comment, param_types) = match config.openapi_mode {
        OpenApiMode::IgnorePrivileges | OpenApiMode::Disabled => {
            let rows = execution.query(SCHEMA_COMMENT, &params).await?;
            let comment = rows.first().map(|row| row.try_get(0)).transpose();
            (comment.map_err(unexpected)?.flatten(), None)
        }
        OpenApiMode::FollowPrivileges => {
            let rows = execution.query(FOLLOW_PRIVILEGES, &params).await?;
            let accessible = rows.first().map(Accessible::from_row).transpose();
            let Some(accessible) = accessible.map_err(unexpected)? else {
                return Ok(None);
            };
            tables.retain(|table| accessible.relations.contains(&table.oid));
            routines.retain(|routine| accessible.functions.contains_key(&routine.oid));
            (accessible.schema_comment, Some(accessible.functions))
        }
    };
    if is_head {
        return Ok(None);
    }
    let relationships = |table: &Table| cache.relationships(&table.name.schema, &table.name.name);
    let proxy = config.openapi_server_proxy_uri.as_ref();
    Ok(Some(render(&DocumentInput {
        tables,
        routines,
        param_types: param_types.as_ref(),
        relationships: &relationships,
        schema_comment,
        security_active: config.openapi_security_active,
        server_proxy_uri: proxy.or(address.public.as_ref()),
        host_and_port: address.listen,
        version: POSTGREST_VERSION,
    })))
}
