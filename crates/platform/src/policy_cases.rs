//! Tests of policies that operators keep (console contract N82).

use plinth_query::policy::{Decision, PolicyTest};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Most cases of a project.
const MAX_CASES: i64 = 1000;

/// What is kept.
#[derive(Debug, Clone)]
pub(crate) struct PolicyCase {
    pub(crate) id: Uuid,
    pub(crate) content: PolicyCaseContent,
    pub(crate) created_by: String,
}

/// What somebody may set of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PolicyCaseContent {
    /// Its name, which no other case of the project has.
    pub(crate) name: String,
    /// As whom.
    pub(crate) subject: Value,
    /// What is done.
    pub(crate) test: PolicyTest,
    /// What is expected.
    pub(crate) decision: Decision,
    /// How many rows are expected to be read or changed, if that matters.
    #[serde(default)]
    pub(crate) affected: Option<u64>,
}

impl PolicyCase {
    fn from_row(row: &Row) -> Result<Self, PlatformError> {
        let parsed = |value: Value| serde_json::from_value(value).map_err(PlatformError::caused_by);
        let affected: Option<i64> = row.get("affected");
        let decision: String = row.get("decision");
        Ok(Self {
            id: row.get("id"),
            content: PolicyCaseContent {
                name: row.get("name"),
                subject: row.get("subject"),
                test: parsed(row.get("test"))?,
                decision: serde_json::from_value(Value::String(decision))
                    .map_err(PlatformError::caused_by)?,
                affected: affected.and_then(|count| u64::try_from(count).ok()),
            },
            created_by: row.get("created_by"),
        })
    }
}

impl PolicyCaseContent {
    fn check(&self) -> Result<(), PlatformError> {
        if (1..=256).contains(&self.name.chars().count()) && !self.name.contains('\0') {
            return Ok(());
        }
        Err(PlatformError::Invalid(
            "The name of a case has between 1 and 256 characters".to_owned(),
        ))
    }

    fn decision(&self) -> &'static str {
        match self.decision {
            Decision::Allowed => "allowed",
            Decision::DeniedByGrant => "denied_by_grant",
            Decision::DeniedByPolicy => "denied_by_policy",
            Decision::Failed => "failed",
        }
    }

    fn columns(&self) -> Result<(Value, Option<i64>), PlatformError> {
        let test = serde_json::to_value(&self.test).map_err(PlatformError::caused_by)?;
        let affected = self.affected.map(i64::try_from).transpose();
        let affected = affected.map_err(|_| {
            PlatformError::Invalid("`affected` is larger than any table".to_owned())
        })?;
        Ok((test, affected))
    }
}

const COLUMNS: &str =
    "id, name, subject, test, decision, affected, created_by from platform.policy_cases";

impl Platform {
    /// The cases of a project, by name.
    pub(crate) async fn list_policy_cases(
        &self,
        project: &str,
    ) -> Result<Vec<PolicyCase>, PlatformError> {
        let sql = format!("select {COLUMNS} where project = $1 order by name");
        let rows = self.tables().await?.query(&sql, &[&project]).await?;
        rows.iter().map(PolicyCase::from_row).collect()
    }

    /// Keeps a case; its name must be new.
    pub(crate) async fn insert_policy_case(
        &self,
        project: &str,
        created_by: &str,
        case: &PolicyCaseContent,
    ) -> Result<PolicyCase, PlatformError> {
        case.check()?;
        let (test, affected) = case.columns()?;
        let sql = format!(
            "with new_case as (
               insert into platform.policy_cases
                 (project, name, subject, test, decision, affected, created_by)
               select $1, $2, $3, $4, $5, $6, $7
               where (select count(*) from platform.policy_cases where project = $1) < {MAX_CASES}
               returning *)
             select {}",
            COLUMNS.replace("platform.policy_cases", "new_case")
        );
        let params: plinth_db::Params<'_> = &[
            &project,
            &case.name,
            &case.subject,
            &test,
            &case.decision(),
            &affected,
            &created_by,
        ];
        match self.tables().await?.query_opt(&sql, params).await? {
            Some(row) => PolicyCase::from_row(&row),
            None => Err(PlatformError::Conflict(format!(
                "A project has at most {MAX_CASES} cases"
            ))),
        }
    }

    /// Changes a case.
    pub(crate) async fn update_policy_case(
        &self,
        project: &str,
        id: Uuid,
        case: &PolicyCaseContent,
    ) -> Result<PolicyCase, PlatformError> {
        case.check()?;
        let (test, affected) = case.columns()?;
        let sql = format!(
            "with changed as (
               update platform.policy_cases
               set name = $3, subject = $4, test = $5, decision = $6, affected = $7,
                   updated_at = now()
               where project = $1 and id = $2 returning *)
             select {}",
            COLUMNS.replace("platform.policy_cases", "changed")
        );
        let params: plinth_db::Params<'_> = &[
            &project,
            &id,
            &case.name,
            &case.subject,
            &test,
            &case.decision(),
            &affected,
        ];
        match self.tables().await?.query_opt(&sql, params).await? {
            Some(row) => PolicyCase::from_row(&row),
            None => Err(no_case(id)),
        }
    }

    /// Deletes a case.
    pub(crate) async fn delete_policy_case(
        &self,
        project: &str,
        id: Uuid,
    ) -> Result<(), PlatformError> {
        let sql = "delete from platform.policy_cases where project = $1 and id = $2";
        match self.tables().await?.execute(sql, &[&project, &id]).await? {
            0 => Err(no_case(id)),
            _ => Ok(()),
        }
    }
}

/// No case of that id in the project.
pub(crate) fn no_case(id: impl std::fmt::Display) -> PlatformError {
    PlatformError::NotFound(format!("There is no case {id}"))
}
