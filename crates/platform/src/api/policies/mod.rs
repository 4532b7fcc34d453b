//! `/platform/projects/{ref}/policies/…`: tests of policies (console contract N82).

mod cases;
mod subject;

use std::time::Duration;

use axum::{Json, extract::State};
use plinth_project::DatabaseAccess;
use plinth_query::policy::{PolicyReport, PolicyTest, SubjectClaims};
use serde::{Deserialize, Serialize};

use super::{
    Operator,
    body::{Body, Segments},
    data::{Opened, end, open},
};
use crate::{Platform, PlatformError};

pub(super) use cases::{create, delete, export, list, run, update};
use subject::TestSubject;

/// A test locks rows, and perhaps the table, until it is rolled back.
const STATEMENT_TIMEOUT: &str = "10s";
const LOCK_TIMEOUT: &str = "2s";
/// All statements of a test.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A test.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TestBody {
    /// As whom.
    subject: TestSubject,
    /// What is done.
    #[serde(flatten)]
    test: PolicyTest,
}

/// `POST …/policies/test`: what somebody may do with a table. All of it is rolled back.
pub(super) async fn test(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<TestBody>,
) -> Result<Json<PolicyReport>, PlatformError> {
    let opened = open_for_tests(&platform, &operator, &text).await?;
    let subject = body.subject.claims(&platform, &opened).await?;
    Ok(Json(run_test(&opened, &body.test, &subject).await?))
}

/// Tests change rows and become others, which only who may do everything can.
async fn open_for_tests(
    platform: &Platform,
    operator: &Operator,
    text: &str,
) -> Result<Opened, PlatformError> {
    let opened = open(platform, operator, text).await?;
    if opened.access == DatabaseAccess::Owner {
        Ok(opened)
    } else {
        Err(PlatformError::Forbidden(
            "Your role does not test policies".to_owned(),
        ))
    }
}

async fn run_test(
    opened: &Opened,
    test: &PolicyTest,
    subject: &SubjectClaims,
) -> Result<PolicyReport, PlatformError> {
    let db = &opened.project.db;
    let begun = db
        .as_operator(opened.access)
        .setting("statement_timeout", STATEMENT_TIMEOUT)
        .setting("lock_timeout", LOCK_TIMEOUT)
        .setting("datestyle", "ISO, MDY")
        .setting("intervalstyle", "postgres")
        .begin();
    let mut tx = begun.await?;
    let testing = plinth_query::policy::test_policies(&mut tx, test, subject);
    let report = tokio::time::timeout(TEST_TIMEOUT, testing).await;
    end(tx.rollback().await);
    let report = report.map_err(|_| {
        PlatformError::Invalid("The test took longer than a minute; try fewer rows".to_owned())
    })?;
    Ok(report?)
}
