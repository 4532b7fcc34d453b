//! Tests that are kept: as regression tests, and as a file for pgTAP.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use plinth_query::{
    Relation,
    policy::{Decision, PgtapCase, PolicyTest, SubjectClaims, pgtap},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use uuid::Uuid;

use super::{Body, Operator, Segments, TestSubject, end, open, open_for_tests, run_test};
use crate::{
    Platform, PlatformError,
    api::subject::{RowAccess, begin},
    policy_cases::{PolicyCase, PolicyCaseContent, no_case},
};

/// A case.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct CaseBody {
    /// Its name, which no other case of the project has.
    name: String,
    /// As whom.
    subject: TestSubject,
    /// What is done.
    test: PolicyTest,
    /// What is expected.
    expect: Expectation,
}

/// What is expected of a test.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(in crate::api) struct Expectation {
    /// What comes of it.
    decision: Decision,
    /// How many rows it reads or changes, if that matters.
    #[serde(default)]
    affected: Option<u64>,
}

/// A case that is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct CaseAnswer {
    id: Uuid,
    created_by: String,
    #[serde(flatten)]
    case: CaseBody,
}

/// All cases of a project.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct CaseList {
    /// By name.
    cases: Vec<CaseAnswer>,
}

impl CaseBody {
    fn into_content(self) -> Result<PolicyCaseContent, PlatformError> {
        let Expectation { decision, affected } = self.expect;
        Ok(PolicyCaseContent {
            name: self.name,
            subject: serde_json::to_value(self.subject).map_err(PlatformError::caused_by)?,
            test: self.test,
            decision,
            affected,
        })
    }
}

impl CaseAnswer {
    fn new(case: PolicyCase) -> Result<Self, PlatformError> {
        let PolicyCase {
            id,
            content,
            created_by,
        } = case;
        Ok(Self {
            id,
            created_by,
            case: CaseBody {
                name: content.name,
                subject: subject_of(content.subject)?,
                test: content.test,
                expect: Expectation {
                    decision: content.decision,
                    affected: content.affected,
                },
            },
        })
    }
}

fn subject_of(kept: serde_json::Value) -> Result<TestSubject, PlatformError> {
    serde_json::from_value(kept).map_err(PlatformError::caused_by)
}

/// `GET …/policies/cases`.
pub(in crate::api) async fn list(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<CaseList>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let cases = platform
        .list_policy_cases(opened.reference.as_str())
        .await?;
    let cases = cases.into_iter().map(CaseAnswer::new);
    Ok(Json(CaseList {
        cases: cases.collect::<Result<_, _>>()?,
    }))
}

/// `POST …/policies/cases`.
pub(in crate::api) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(body): Body<CaseBody>,
) -> Result<(StatusCode, Json<CaseAnswer>), PlatformError> {
    let opened = open_for_tests(&platform, &operator, &text).await?;
    let content = body.into_content()?;
    let project = opened.reference.as_str();
    let case = platform
        .insert_policy_case(project, operator.name(), &content)
        .await?;
    let details = json!({ "case": case.id, "name": content.name });
    let reference = &opened.reference;
    platform
        .audit(&operator, Some(reference), "policy_case.create", details)
        .await;
    Ok((StatusCode::CREATED, Json(CaseAnswer::new(case)?)))
}

/// `PUT …/policies/cases/{id}`.
pub(in crate::api) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
    Body(body): Body<CaseBody>,
) -> Result<Json<CaseAnswer>, PlatformError> {
    let opened = open_for_tests(&platform, &operator, &text).await?;
    let uuid = id.parse().map_err(|_| no_case(&id))?;
    let content = body.into_content()?;
    let project = opened.reference.as_str();
    let case = platform.update_policy_case(project, uuid, &content).await?;
    let details = json!({ "case": uuid, "name": content.name });
    let reference = &opened.reference;
    platform
        .audit(&operator, Some(reference), "policy_case.update", details)
        .await;
    Ok(Json(CaseAnswer::new(case)?))
}

/// `DELETE …/policies/cases/{id}`.
pub(in crate::api) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<StatusCode, PlatformError> {
    let opened = open_for_tests(&platform, &operator, &text).await?;
    let uuid = id.parse().map_err(|_| no_case(&id))?;
    platform
        .delete_policy_case(opened.reference.as_str(), uuid)
        .await?;
    let details = json!({ "case": uuid });
    let reference = &opened.reference;
    platform
        .audit(&operator, Some(reference), "policy_case.delete", details)
        .await;
    Ok(StatusCode::NO_CONTENT)
}

/// Results of all cases.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct RunAnswer {
    /// How many did as expected.
    passed: usize,
    /// How many did not.
    failed: usize,
    /// Each of them.
    results: Vec<CaseResult>,
}

/// What came of a case.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::api) struct CaseResult {
    id: Uuid,
    name: String,
    passed: bool,
    /// What came of it; absent if it could not be run.
    decision: Option<Decision>,
    affected: Option<u64>,
    /// What was expected.
    expect: Expectation,
    /// Why it could not be run, or was refused.
    error: Option<String>,
}

/// `POST …/policies/cases/run`: runs all cases.
pub(in crate::api) async fn run(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Json<RunAnswer>, PlatformError> {
    let opened = open_for_tests(&platform, &operator, &text).await?;
    let cases = platform
        .list_policy_cases(opened.reference.as_str())
        .await?;
    let mut results = Vec::with_capacity(cases.len());
    for PolicyCase { id, content, .. } in cases {
        let tested = async {
            let subject = subject_of(content.subject.clone())?;
            let subject = subject.claims(&platform, &opened).await?;
            run_test(&opened, &content.test, &subject).await
        };
        let expect = Expectation {
            decision: content.decision,
            affected: content.affected,
        };
        let mut result = CaseResult {
            id,
            name: content.name,
            passed: false,
            decision: None,
            affected: None,
            expect,
            error: None,
        };
        match tested.await {
            Ok(report) => {
                result.passed = report.decision == expect.decision
                    && expect.affected.is_none_or(|count| count == report.affected);
                result.decision = Some(report.decision);
                result.affected = Some(report.affected);
                result.error = report.error.map(|error| error.message);
            }
            // The table may be gone; the other cases go on.
            Err(error @ PlatformError::Unavailable(_)) => return Err(error),
            Err(error) => result.error = Some(error.to_string()),
        }
        results.push(result);
    }
    let passed = results.iter().filter(|result| result.passed).count();
    Ok(Json(RunAnswer {
        passed,
        failed: results.len() - passed,
        results,
    }))
}

/// `GET …/policies/cases/export`: all cases as a file for pgTAP. What cannot be written is left out, with
/// a comment.
pub(in crate::api) async fn export(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<Response, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let cases = platform
        .list_policy_cases(opened.reference.as_str())
        .await?;
    let mut tx = begin(&opened.project, opened.access, None, RowAccess::Read).await?;
    let mut known: Vec<(PolicyCaseContent, Relation, SubjectClaims)> = Vec::new();
    let mut comments = String::new();
    for PolicyCase { content, .. } in cases {
        let relation = Relation::load(&mut tx, &content.test.relation).await;
        let subject = subject_of(content.subject.clone())?;
        let subject = subject.claims(&platform, &opened).await;
        match (relation, subject) {
            (Ok(relation), Ok(subject)) => known.push((content, relation, subject)),
            (Err(error), _) => push_comment(&mut comments, &content.name, &error),
            (_, Err(error)) => push_comment(&mut comments, &content.name, &error),
        }
    }
    end(tx.rollback().await);
    let cases: Vec<PgtapCase<'_>> = known
        .iter()
        .map(|(content, relation, subject)| PgtapCase {
            name: &content.name,
            relation,
            test: &content.test,
            subject,
            decision: content.decision,
            affected: content.affected,
        })
        .collect();
    let file = format!("{comments}{}", pgtap(&cases)?);
    let kind = [(CONTENT_TYPE, "application/sql")];
    Ok((kind, file).into_response())
}

fn push_comment(comments: &mut String, name: &str, error: &dyn std::fmt::Display) {
    let text = format!("left out: {name}: {error}");
    comments.push_str(&format!("-- {}\n", text.replace(['\n', '\r'], " ")));
}
