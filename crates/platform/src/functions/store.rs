//! The platform as the store that the functions service loads deployed functions from.

use std::{collections::BTreeMap, path::Path};

use plinth_db::DbError;
use plinth_project::{BoxFuture, DeployedFunction, FunctionStore, ProjectRef, UnpackError};

use super::{row, staged::write_files};
use crate::{Platform, secrets};

impl FunctionStore for Platform {
    fn functions<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<Vec<DeployedFunction>, DbError>> {
        Box::pin(async move {
            let tables = self.tables().await?;
            let functions = row::list_active(&*tables, project).await?.into_iter();
            Ok(functions.map(row::StoredFunction::into_deployed).collect())
        })
    }

    fn unpack<'a>(
        &'a self,
        project: &'a ProjectRef,
        function: &'a DeployedFunction,
        folder: &'a Path,
    ) -> BoxFuture<'a, Result<(), UnpackError>> {
        Box::pin(async move {
            let tables = self.tables().await?;
            let sql = "select from platform.functions where id = $1 and project = $2";
            let owned = tables
                .query_opt(sql, &[&function.id, &project.as_str()])
                .await;
            if owned.map_err(DbError::from)?.is_none() {
                return Err(UnpackError::Gone);
            }
            let files = row::files(&*tables, function.id, function.version).await;
            drop(tables);
            // Every version has at least one file.
            match files.map_err(DbError::from)? {
                files if files.is_empty() => Err(UnpackError::Gone),
                files => Ok(write_files(folder, files).await?),
            }
        })
    }

    fn secrets<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<BTreeMap<String, String>, DbError>> {
        Box::pin(async move {
            let tables = self.tables().await?;
            secrets::open_all(&*tables, &self.0.instance_key, project).await
        })
    }
}
