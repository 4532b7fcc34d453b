//! `/platform/projects/{ref}/data/import`: a file into a table, streamed (console contract N58).

use std::time::Duration;

use axum::{
    Json,
    body::Body as HttpBody,
    extract::{Request, State},
    http::header::{CONTENT_DISPOSITION, CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt as _;
use plinth_project::{BodyLimit, DatabaseAccess};
use plinth_query::{
    Relation,
    import::{
        FileOptions, ImportPhase, ImportProgress, ImportReport, ImportRequest, Preview,
        SAMPLE_BYTES,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{
    Operator,
    body::{Params, Segments},
    data::{Opened, end, open},
    subject::{RowAccess, begin},
};
use crate::{Platform, PlatformError, jobs::JobProgress};

/// Longest time until a client has sent the beginning of a file.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a long import says that it goes on.
const ACTIVITY_INTERVAL: Duration = Duration::from_secs(5);

/// The options of an import or of a preview, as JSON text: the body is the file.
#[derive(Debug, Deserialize)]
pub(super) struct OptionParams {
    /// Its options.
    #[serde(default)]
    options: Option<String>,
    /// How long the file is, for the progress; the header `content-length` if absent.
    #[serde(default)]
    bytes: Option<i64>,
}

/// What an import did.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ImportAnswer {
    /// The job that stands for it.
    job: Uuid,
    /// Records of the file.
    rows_read: u64,
    /// Rows that were inserted or updated.
    rows_written: u64,
    /// Records that were left out; the list is at `…/data/import/{job}/rejects`.
    rows_rejected: u64,
    /// Bytes of the file.
    bytes: u64,
}

/// `POST …/data/import/preview`: what a file looks like, from its first 256 KiB.
pub(super) async fn preview(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<OptionParams>,
    request: Request,
) -> Result<Json<Preview>, PlatformError> {
    operator.project_by_name(&platform, &text)?;
    let options: FileOptions = match &params.options {
        Some(options) => parse_options(options)?,
        None => FileOptions::default(),
    };
    let sample = tokio::time::timeout(PREVIEW_TIMEOUT, read_sample(request.into_body())).await;
    let sample = sample.map_err(|_| PlatformError::Invalid("No data came".to_owned()))??;
    Ok(Json(plinth_query::import::preview(&sample, &options)?))
}

async fn read_sample(body: HttpBody) -> Result<Vec<u8>, PlatformError> {
    let mut body = body.into_data_stream();
    let mut sample = Vec::new();
    while sample.len() < SAMPLE_BYTES
        && let Some(piece) = body.next().await
    {
        let piece = piece
            .map_err(|error| PlatformError::Invalid(format!("Reading the file failed: {error}")))?;
        sample.extend_from_slice(&piece);
    }
    sample.truncate(SAMPLE_BYTES);
    Ok(sample)
}

fn parse_options<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, PlatformError> {
    serde_json::from_str(text)
        .map_err(|error| PlatformError::Invalid(format!("`options` is invalid: {error}")))
}

/// `POST …/data/import`: imports the body. The response comes at its end; meanwhile the job tells how far
/// it is. Nothing is imported by a request that breaks off.
pub(super) async fn import(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Params(params): Params<OptionParams>,
    request: Request,
) -> Result<Json<ImportAnswer>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let Some(options) = &params.options else {
        return Err(PlatformError::Invalid(
            "`options` says what is imported where".to_owned(),
        ));
    };
    let options: ImportRequest = parse_options(options)?;
    if options.create && opened.access != DatabaseAccess::Owner {
        return Err(PlatformError::Forbidden(
            "Your role may import into tables that exist".to_owned(),
        ));
    }
    let relation = relation(&opened, &options).await?;
    let length = request.headers().get("content-length");
    let length = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let total = params.bytes.or(length).unwrap_or(0);
    let activity = request.extensions().get::<BodyLimit>().cloned();
    let job = Job {
        platform: &platform,
        operator: &operator,
        opened: &opened,
        options: &options,
        total,
        activity,
    };
    let (id, report) = job.run(relation, request.into_body()).await?;
    let details = json!({
        "schema": options.relation.schema,
        "table": options.relation.name,
        "mode": options.mode,
        "rows": report.rows_written,
        "rejected": report.rejects.count(),
    });
    let reference = &opened.reference;
    platform
        .audit(&operator, Some(reference), "data.import", details)
        .await;
    Ok(Json(ImportAnswer {
        job: id,
        rows_read: report.rows_read,
        rows_written: report.rows_written,
        rows_rejected: report.rejects.count(),
        bytes: report.bytes,
    }))
}

/// The table, unless it is to be created.
async fn relation(
    opened: &Opened,
    options: &ImportRequest,
) -> Result<Option<Relation>, PlatformError> {
    if options.create {
        return Ok(None);
    }
    let mut tx = begin(&opened.project, opened.access, None, RowAccess::Read).await?;
    let relation = Relation::load(&mut tx, &options.relation).await;
    end(tx.rollback().await);
    let relation = relation?;
    if !relation.is_insertable() {
        return Err(PlatformError::Invalid(format!(
            "{} takes no new rows",
            options.relation.name.escape_debug()
        )));
    }
    Ok(Some(relation))
}

/// An import as a job.
struct Job<'a> {
    platform: &'a Platform,
    operator: &'a Operator,
    opened: &'a Opened,
    options: &'a ImportRequest,
    total: i64,
    /// Long work after the last byte is activity too.
    activity: Option<BodyLimit>,
}

impl Job<'_> {
    async fn run(
        &self,
        relation: Option<Relation>,
        body: HttpBody,
    ) -> Result<(Uuid, ImportReport), PlatformError> {
        let platform = self.platform;
        let reference = self.opened.reference.as_str();
        let name = self.operator.name();
        let id = platform.begin_job("import", reference, Some(name)).await?;
        let cancel = platform.0.imports.begin(id, reference, name);
        let shutdown = platform.0.shutdown.clone();
        let done = tokio::select! {
            done = self.work(id, relation, body, &cancel) => done,
            () = shutdown.cancelled() => Err(PlatformError::Cancelled),
            () = self.operator.clone().until_token_ends(platform.clone()) => {
                Err(PlatformError::Cancelled)
            }
        };
        platform.0.imports.end(id);
        let message = done.as_ref().err().map(ToString::to_string);
        platform.end_job(id, message.as_deref()).await?;
        let report = done?;
        Ok((id, report))
    }

    async fn work(
        &self,
        id: Uuid,
        relation: Option<Relation>,
        body: HttpBody,
        cancel: &CancellationToken,
    ) -> Result<ImportReport, PlatformError> {
        let db = &self.opened.project.db;
        let session = db.session_as_operator(self.opened.access).await?;
        let (progress, seen) = watch::channel(ImportProgress::default());
        let imported = plinth_query::import::import(
            &session,
            relation.as_ref(),
            self.options,
            body.into_data_stream(),
            &progress,
            cancel,
        );
        let report = tokio::select! {
            report = imported => report.map_err(PlatformError::from),
            error = self.report(id, seen) => Err(error),
        };
        let report = report?;
        // Committed: what fails now is the list, not the import.
        if report.rejects.count() > 0 {
            let list = &report.rejects;
            if let Err(error) = self.platform.store_rejects(id, list).await {
                tracing::error!(job = %id, "storing rejected rows failed: {error}");
            }
        }
        Ok(report)
    }

    /// Writes progress; never ends.
    async fn report(&self, id: Uuid, mut seen: watch::Receiver<ImportProgress>) -> PlatformError {
        let (sender, receiver) = watch::channel(JobProgress::default());
        let translate = async {
            loop {
                let now = *seen.borrow_and_update();
                sender.send_replace(self.job_progress(now));
                if seen.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
        };
        let stay_active = async {
            loop {
                tokio::time::sleep(ACTIVITY_INTERVAL).await;
                if let Some(activity) = &self.activity {
                    activity.note_activity();
                }
            }
        };
        let reported = self.platform.report_job(id, receiver);
        tokio::join!(translate, stay_active, reported);
        PlatformError::internal("progress reports ended")
    }

    fn job_progress(&self, now: ImportProgress) -> JobProgress {
        let step = match now.phase {
            ImportPhase::Reading => "reading the file",
            ImportPhase::Checking => "checking values",
            ImportPhase::Writing => "writing rows",
            ImportPhase::Committing => "committing",
        };
        JobProgress {
            done: i64::try_from(now.bytes).unwrap_or(i64::MAX),
            total: self.total,
            unit: "bytes".to_owned(),
            message: format!("{step}; {} rows read, {} left out", now.rows, now.rejected),
        }
    }
}

/// That something was done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Done {
    /// `ok`.
    message: String,
}

/// `POST …/data/import/{job}/cancel`: ends an import of this node; nothing of it remains.
pub(super) async fn cancel(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Json<Done>, PlatformError> {
    let opened = open(&platform, &operator, &text).await?;
    let may_cancel_all = opened.access == DatabaseAccess::Owner;
    let whose = (!may_cancel_all).then(|| operator.name());
    let found = id.parse().ok().is_some_and(|id| {
        let imports = &platform.0.imports;
        imports.cancel(id, opened.reference.as_str(), whose)
    });
    if found {
        let message = "ok".to_owned();
        Ok(Json(Done { message }))
    } else {
        Err(PlatformError::NotFound(format!(
            "There is no running import {id}"
        )))
    }
}

/// `GET …/data/import/{job}/rejects`: the rows that an import left out, as CSV.
pub(super) async fn rejects(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, id)): Segments<(String, String)>,
) -> Result<Response, PlatformError> {
    let name = operator.project_by_name(&platform, &text)?;
    let reference = platform.reference_of(&name);
    let none = || PlatformError::NotFound(format!("There is no list of rows for import {id}"));
    let job = id.parse().map_err(|_| none())?;
    let csv = platform.find_rejects(reference.as_str(), job).await?;
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (
            CONTENT_DISPOSITION,
            "attachment; filename=\"rejected-rows.csv\"",
        ),
    ];
    Ok((headers, csv.ok_or_else(none)?).into_response())
}
