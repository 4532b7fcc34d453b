//! `/platform/projects/{ref}/config`: every setting with its value, source and meaning, and changes of
//! them (console contract §2.8, F62).

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, header},
};
use plinth_project::ProjectKind;
use plinth_settings::{Listed, Reach, Source};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Operator,
    body::{Body, Params, Segments, TextBody},
    openapi::TextFile,
};
use crate::{
    Platform, PlatformError,
    config::{Change, ChangeRequest, Difference, Obstacle, ProjectConfig},
};

/// The settings of a project.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConfigBody {
    /// For `If-Match` of a change; also the header `ETag`, in quotes.
    etag: String,
    settings: Vec<SettingBody>,
}

/// A setting.
#[derive(Serialize, JsonSchema)]
pub(super) struct SettingBody {
    /// Dotted name.
    name: String,
    /// Secrets are `***`; null if it is not set.
    value: Option<Value>,
    default: Option<Value>,
    /// `boolean`, `integer`, `text`, `secret`, `url`, `path`, `duration`, `bytes`, `choice`, `list`,
    /// `choices`, `names`, `table`, `secret_table` or `records`.
    r#type: &'static str,
    /// Words to choose from, or the columns of records.
    choices: &'static [&'static str],
    min: Option<i64>,
    max: Option<i64>,
    /// The form of the value in words.
    expected: String,
    meaning: &'static str,
    /// `command_line`, `environment`, `file`, `stored` or `default`.
    source: &'static str,
    /// Where the value is written, for people.
    place: Option<String>,
    /// Whether this operator may change it here.
    is_changeable: bool,
    /// Why it cannot be changed here.
    obstacle: Option<String>,
    /// Whether a change takes effect only when Plinth starts again.
    needs_restart: bool,
    /// Whether Plinth only accepts it, so that existing files load.
    is_ignored: bool,
}

impl SettingBody {
    fn new(setting: &Listed<'_>, may_change_limits: bool) -> Self {
        let kind = setting.declaration.kind();
        let bounds = kind.bounds();
        let obstacle = Obstacle::find(setting, may_change_limits);
        Self {
            value: setting.value.map(|value| kind.to_shown(value)),
            default: setting.default.map(|value| kind.to_shown(value)),
            r#type: kind.name(),
            choices: kind.words(),
            min: bounds.map(|(min, _)| min),
            // An integer without an upper bound.
            max: bounds.map(|(_, max)| max).filter(|max| *max < i64::MAX),
            expected: kind.expected(),
            meaning: setting.declaration.meaning(),
            source: match setting.source {
                Source::CommandLine => "command_line",
                Source::Environment(_) => "environment",
                Source::File(_) => "file",
                Source::Stored => "stored",
                Source::Default => "default",
            },
            place: setting.place.map(ToString::to_string),
            is_changeable: obstacle.is_none(),
            obstacle: obstacle.map(|obstacle| obstacle.reason().into_owned()),
            needs_restart: setting.declaration.reach() == Reach::Process,
            is_ignored: setting.declaration.is_inert(),
            name: setting.name.clone(),
        }
    }
}

fn body(config: &ProjectConfig, may_change_limits: bool) -> (HeaderMap, Json<ConfigBody>) {
    let settings = config.settings.list().into_iter();
    // The program's own settings are those of its folder, which is the default project's.
    let is_shown = |setting: &Listed<'_>| {
        config.record.kind == ProjectKind::Default || setting.declaration.reach() != Reach::Process
    };
    let settings = settings.filter(is_shown);
    let settings = settings.map(|setting| SettingBody::new(&setting, may_change_limits));
    let body = ConfigBody {
        etag: config.version.clone(),
        settings: settings.collect(),
    };
    (etag(config), Json(body))
}

fn etag(config: &ProjectConfig) -> HeaderMap {
    let value = HeaderValue::from_str(&format!("\"{}\"", config.version));
    value
        .map(|value| (header::ETAG, value))
        .into_iter()
        .collect()
}

/// `*` and an absent header match any state.
fn if_match(headers: &HeaderMap) -> Result<Option<String>, PlatformError> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let text = text.strip_prefix("W/").unwrap_or(text);
    match text.trim_matches('"') {
        "*" => Ok(None),
        "" => Err(PlatformError::Invalid(
            "If-Match: expected the ETag of the settings".to_owned(),
        )),
        version => Ok(Some(version.to_owned())),
    }
}

/// `GET …/config`.
pub(super) async fn show(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<(HeaderMap, Json<ConfigBody>), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let config = platform.load_config(&project).await?;
    Ok(body(&config, operator.is_owner()))
}

/// Changes of settings.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ConfigRequest {
    /// Values by name; null goes back to the default, and `***` leaves a secret as it is.
    settings: Map<String, Value>,
}

/// The state after a change, and what differs.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConfigChangedBody {
    etag: String,
    changes: Vec<ChangeBody>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct ChangeBody {
    name: String,
    /// Secrets are `***`.
    before: Option<Value>,
    after: Option<Value>,
}

impl From<Change> for ChangeBody {
    fn from(change: Change) -> Self {
        Self {
            name: change.name,
            before: change.before,
            after: change.after,
        }
    }
}

/// `PATCH …/config`: all of the changes or none. 412 if the settings are not those of `If-Match`.
pub(super) async fn change(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    headers: HeaderMap,
    Body(request): Body<ConfigRequest>,
) -> Result<(HeaderMap, Json<ConfigChangedBody>), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let request = ChangeRequest {
        values: request.settings,
        version: if_match(&headers)?,
        may_change_limits: operator.is_owner(),
    };
    let (config, changes) = platform.change_config(&project, &request).await?;
    audit(&platform, &operator, &config, &changes).await;
    let body = ConfigChangedBody {
        etag: config.version.clone(),
        changes: changes.into_iter().map(ChangeBody::from).collect(),
    };
    Ok((etag(&config), Json(body)))
}

/// Writes what changed, with secrets masked.
pub(super) async fn audit(
    platform: &Platform,
    operator: &Operator,
    config: &ProjectConfig,
    changes: &[Change],
) {
    if changes.is_empty() {
        return;
    }
    let values = |value: fn(&Change) -> &Option<Value>| -> Map<String, Value> {
        let values = changes.iter();
        let values = values.map(|change| (change.name.clone(), json!(value(change))));
        values.collect()
    };
    let names: Vec<&str> = changes.iter().map(|change| change.name.as_str()).collect();
    let details = json!({
        "settings": names,
        "before": values(|change| &change.before),
        "after": values(|change| &change.after),
    });
    let project = Some(&config.record.reference);
    platform
        .audit(operator, project, "project.config", details)
        .await;
}

/// `GET …/config.toml`: what is set, without secrets.
pub(super) async fn show_file(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
) -> Result<(HeaderMap, TextFile), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let config = platform.load_config(&project).await?;
    Ok((
        etag(&config),
        TextFile("application/toml", config.to_toml()),
    ))
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct ConfigFileParams {
    /// Only says what differs.
    #[serde(default)]
    dry_run: bool,
}

/// What a file has otherwise than the project.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConfigFileBody {
    etag: String,
    /// Whether the differences without an obstacle were applied.
    is_applied: bool,
    differences: Vec<DifferenceBody>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct DifferenceBody {
    name: String,
    /// Secrets are `***`.
    before: Option<Value>,
    after: Option<Value>,
    /// Why it cannot be changed here.
    obstacle: Option<String>,
}

impl From<Difference> for DifferenceBody {
    fn from(difference: Difference) -> Self {
        let obstacle = difference.obstacle;
        Self {
            name: difference.name,
            before: difference.before,
            after: difference.after,
            obstacle: obstacle.map(|obstacle| obstacle.reason().into_owned()),
        }
    }
}

/// `PUT …/config.toml`: makes the stored settings those of the file. What cannot be changed here is
/// named and left as it is.
pub(super) async fn replace_file(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    headers: HeaderMap,
    Params(params): Params<ConfigFileParams>,
    TextBody(file): TextBody,
) -> Result<(HeaderMap, Json<ConfigFileBody>), PlatformError> {
    let project = operator.project_by_name(&platform, &text)?;
    let version = if_match(&headers)?;
    let may_change_limits = operator.is_owner();
    let mut config = platform.load_config(&project).await?;
    let differences = config.compare(&file, may_change_limits)?;
    if !params.dry_run {
        let request = ChangeRequest {
            values: Difference::applicable(&differences),
            version: version.or_else(|| Some(config.version.clone())),
            may_change_limits,
        };
        let (changed, changes) = platform.change_config(&project, &request).await?;
        audit(&platform, &operator, &changed, &changes).await;
        config = changed;
    }
    let body = ConfigFileBody {
        etag: config.version.clone(),
        is_applied: !params.dry_run,
        differences: differences.into_iter().map(DifferenceBody::from).collect(),
    };
    Ok((etag(&config), Json(body)))
}
