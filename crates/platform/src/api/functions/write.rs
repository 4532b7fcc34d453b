//! Endpoints that change functions.

use axum::{
    Json,
    extract::{FromRequest, OriginalUri, Request, State},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE},
};
use plinth_project::{BodyLimit, FunctionSource};
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Operator, Segments, audit, form::DeployForm, function_body, keep_alive::keep_alive};
use crate::{
    Activation, Bundle, Deployment, FunctionUpdate, Platform, PlatformError, SourceFile,
    api::body::{Body, Params},
};

/// The only file of a function that was sent as one text.
const ONLY_FILE: &str = "index.ts";

#[derive(Deserialize)]
pub(in crate::api) struct DeployParams {
    #[serde(default)]
    slug: Option<String>,
    #[serde(default, rename = "bundleOnly")]
    bundle_only: bool,
}

/// `POST …/functions/deploy?slug=[&bundleOnly=true]`. Its route is that of `…/{slug}`, since a
/// function may be called `deploy`.
pub(in crate::api) async fn deploy(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, action)): Segments<(String, String)>,
    Params(params): Params<DeployParams>,
    OriginalUri(uri): OriginalUri,
    request: Request,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    if action != "deploy" {
        return Err(PlatformError::NotAvailable(format!("POST {}", uri.path())));
    }
    let activity = activity_of(&request);
    let form = DeployForm::from_request(request, &platform).await?;
    let slug = params.slug.or_else(|| form.metadata.name.clone());
    let slug = slug.ok_or_else(|| {
        PlatformError::Invalid("Which function? It is named by ?slug=".to_owned())
    })?;
    let deployment = Deployment {
        slug,
        name: form.metadata.name.clone(),
        verify_jwt: form.metadata.verify_jwt,
        bundle: form.into_bundle()?,
        activates: !params.bundle_only,
    };
    let function = keep_alive(activity, platform.deploy_function(&project, &deployment)).await?;
    let action = if params.bundle_only {
        "function.bundle"
    } else {
        "function.deploy"
    };
    audit(&platform, &operator, &project, action, &function).await;
    let body = function_body(&platform, &platform.reference_of(&project), &function);
    Ok((StatusCode::CREATED, Json(body)))
}

#[derive(Deserialize)]
struct CreateBody {
    slug: String,
    name: String,
    body: String,
    #[serde(default)]
    verify_jwt: Option<bool>,
}

/// `POST …/functions`: a function of one file.
pub(in crate::api) async fn create(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    request: Request,
) -> Result<(StatusCode, Json<Value>), PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let activity = activity_of(&request);
    let CreateBody {
        slug,
        name,
        body,
        verify_jwt,
    } = read_json(request).await?;
    match platform.load_function(&project, &slug).await {
        Err(PlatformError::NotFound(_)) => {}
        Err(error) => return Err(error),
        // The CLI recognises this message and sends a PATCH.
        Ok(_) => {
            return Err(PlatformError::Invalid(format!(
                "Duplicated function slug: {slug}"
            )));
        }
    }
    let deployment = Deployment {
        slug,
        name: Some(name),
        verify_jwt,
        bundle: of_one_file(body)?,
        activates: true,
    };
    let function = keep_alive(activity, platform.deploy_function(&project, &deployment)).await?;
    audit(&platform, &operator, &project, "function.deploy", &function).await;
    let body = function_body(&platform, &platform.reference_of(&project), &function);
    Ok((StatusCode::CREATED, Json(body)))
}

#[derive(Deserialize)]
struct UpdateBody {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    verify_jwt: Option<bool>,
    #[serde(default)]
    body: Option<String>,
}

/// `PATCH …/functions/{slug}`: settings of the active version, or a new one of one file.
pub(in crate::api) async fn update(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
    request: Request,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    let activity = activity_of(&request);
    let UpdateBody {
        name,
        verify_jwt,
        body,
    } = read_json(request).await?;
    let function = match body {
        None => {
            let update = FunctionUpdate { name, verify_jwt };
            platform.update_function(&project, &slug, &update).await?
        }
        Some(body) => {
            platform.load_function(&project, &slug).await?;
            let deployment = Deployment {
                slug,
                name,
                verify_jwt,
                bundle: of_one_file(body)?,
                activates: true,
            };
            keep_alive(activity, platform.deploy_function(&project, &deployment)).await?
        }
    };
    audit(&platform, &operator, &project, "function.update", &function).await;
    Ok(Json(function_body(
        &platform,
        &platform.reference_of(&project),
        &function,
    )))
}

#[derive(Deserialize)]
pub(in crate::api) struct ActivationBody {
    slug: String,
    version: i32,
    #[serde(default)]
    id: Option<Uuid>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    verify_jwt: Option<bool>,
    #[serde(default)]
    status: Option<String>,
}

/// `PUT …/functions`: versions that were deployed with `bundleOnly` become active, all at once.
pub(in crate::api) async fn activate(
    operator: Operator,
    State(platform): State<Platform>,
    Segments(text): Segments<String>,
    Body(bodies): Body<Vec<ActivationBody>>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    if let Some(other) = bodies.iter().find(|body| {
        body.status
            .as_deref()
            .is_some_and(|status| status != "ACTIVE")
    }) {
        return Err(PlatformError::Invalid(format!(
            "The function {} can only become ACTIVE here; DELETE removes it",
            other.slug
        )));
    }
    let activations: Vec<Activation> = bodies
        .into_iter()
        .map(|body| Activation {
            slug: body.slug,
            id: body.id,
            version: body.version,
            update: FunctionUpdate {
                name: body.name,
                verify_jwt: body.verify_jwt,
            },
        })
        .collect();
    let functions = platform.activate_functions(&project, &activations).await?;
    for function in &functions {
        audit(
            &platform,
            &operator,
            &project,
            "function.activate",
            function,
        )
        .await;
    }
    let reference = platform.reference_of(&project);
    let bodies: Vec<Value> = functions
        .iter()
        .map(|function| function_body(&platform, &reference, function))
        .collect();
    Ok(Json(json!({ "functions": bodies })))
}

/// `DELETE …/functions/{slug}`.
pub(in crate::api) async fn delete(
    operator: Operator,
    State(platform): State<Platform>,
    Segments((text, slug)): Segments<(String, String)>,
) -> Result<Json<Value>, PlatformError> {
    let project = operator.project_by_ref(&platform, &text)?;
    platform.delete_function(&project, &slug).await?;
    let target = platform.reference_of(&project);
    let details = json!({ "slug": slug });
    platform
        .audit(&operator, Some(&target), "function.delete", details)
        .await;
    Ok(Json(json!({})))
}

/// The edge's record of the request's activity.
fn activity_of(request: &Request) -> Option<BodyLimit> {
    request.extensions().get::<BodyLimit>().cloned()
}

fn of_one_file(text: String) -> Result<Bundle, PlatformError> {
    let source = FunctionSource {
        entrypoint: ONLY_FILE.to_owned(),
        import_map: None,
        static_patterns: Vec::new(),
    };
    let file = SourceFile {
        path: ONLY_FILE.to_owned(),
        content: text.into(),
    };
    Bundle::new(source, vec![file])
}

/// Rejects bundles in the hosted runtime's format (eszip), which cannot be run here.
async fn read_json<T: serde::de::DeserializeOwned>(request: Request) -> Result<T, PlatformError> {
    if is_eszip(request.headers()) {
        return Err(PlatformError::NotAvailable(
            "functions bundled elsewhere; deploy the sources (supabase functions deploy --use-api)"
                .to_owned(),
        ));
    }
    let Body(body) = Body::from_request(request, &()).await?;
    Ok(body)
}

fn is_eszip(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    content_type.is_some_and(|kind| kind.starts_with("application/vnd.denoland.eszip"))
}
