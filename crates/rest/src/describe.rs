//! The OpenAPI document: what the caller may see, put together (rest contract §8).

use http::request::Parts;
use plinth_db::Literal;
use plinth_project::PublicUrl;
use serde_json::json;
use url::Url;

use crate::{
    RestError, RestService,
    config::OpenApiMode,
    execute::Execution,
    openapi::{self, Accessible, Described, FOLLOW_PRIVILEGES, SCHEMA_COMMENT},
    response::POSTGREST_VERSION,
    schema_cache::{Routine, Table},
    snapshot::Snapshot,
};

/// Where clients reach the service.
pub(crate) struct Address {
    public: Option<Url>,
    listens_at: (String, u16),
}

impl Address {
    pub(crate) fn of(parts: &Parts, service: &RestService) -> Self {
        let (host, port) = service.listens_at().unwrap_or(("localhost", 80));
        let public = parts.extensions.get::<PublicUrl>();
        Self {
            public: public.and_then(|url| Url::parse(&format!("{url}/rest/v1")).ok()),
            listens_at: (host.to_owned(), port),
        }
    }
}

/// The document, or none for HEAD.
pub(crate) async fn document(
    execution: &Execution<'_>,
    address: &Address,
    is_head: bool,
) -> Result<Option<String>, RestError> {
    let (cache, config) = (&execution.snapshot.cache, &execution.snapshot.config);
    let schema = execution.request.schema.as_str();
    let about = [Literal::Text(schema.into())];
    let unexpected = |error: plinth_db::DbError| RestError::UnexpectedResult(error.to_string());
    let mut tables: Vec<&Table> = cache.tables_in(schema).collect();
    let mut routines: Vec<&Routine> = cache.routines_in(schema).collect();
    let (schema_comment, param_types) = match config.openapi_mode {
        OpenApiMode::IgnorePrivileges | OpenApiMode::Disabled => {
            let rows = execution.look_up(SCHEMA_COMMENT, &about).await?;
            let comment = rows.first().map(|row| row.try_get(0)).transpose();
            (comment.map_err(unexpected)?.flatten(), None)
        }
        OpenApiMode::FollowPrivileges => {
            let rows = execution.look_up(FOLLOW_PRIVILEGES, &about).await?;
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
    Ok(Some(openapi::render(&Described {
        tables,
        routines,
        param_types: param_types.as_ref(),
        relationships: &relationships,
        schema_comment,
        security_active: config.openapi_security_active,
        server_proxy_uri: proxy.or(address.public.as_ref()),
        host_and_port: (&address.listens_at.0, address.listens_at.1),
        version: POSTGREST_VERSION,
    })))
}

/// The schema cache for whoever debugs, not for programs.
pub(crate) fn schema_dump(snapshot: &Snapshot) -> String {
    let cache = &snapshot.cache;
    let schemas: serde_json::Map<_, _> = snapshot
        .config
        .schemas
        .iter()
        .map(|schema| {
            let tables: Vec<_> = cache
                .tables_in(schema)
                .map(|table| {
                    let relationships = cache.relationships(schema, &table.name.name);
                    json!({
                        "name": &*table.name.name,
                        "columns": table.columns.iter().map(|c| json!({
                            "name": &*c.name, "type": &*c.nominal_type,
                        })).collect::<Vec<_>>(),
                        "primaryKey": table.primary_key.iter().map(|c| &**c).collect::<Vec<_>>(),
                        "relatedTo": relationships.iter()
                            .map(|r| &*r.foreign_table.name).collect::<Vec<_>>(),
                    })
                })
                .collect();
            let routines: Vec<_> = cache
                .routines_in(schema)
                .map(|routine| {
                    json!({
                        "name": &*routine.name.name,
                        "params": routine.params.iter().map(|param| json!({
                            "name": &*param.name, "type": &*param.type_name,
                            "required": param.is_required,
                        })).collect::<Vec<_>>(),
                    })
                })
                .collect();
            (
                schema.clone(),
                json!({ "tables": tables, "routines": routines }),
            )
        })
        .collect();
    serde_json::Value::Object(schemas).to_string()
}
