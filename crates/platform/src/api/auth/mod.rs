//! `/platform/projects/{ref}/auth/…`: users of a project, and settings that are tried out (console
//! contract §2.8, N90–N97). The auth service does the work ([`plinth_project::UserAdministration`]).

pub(super) mod references;
pub(super) mod trial;
pub(super) mod users;

use axum::extract::{FromRequestParts, RawPathParams};
use http::request::Parts;
use plinth_project::{OperatorCall, Project};
use uuid::Uuid;

use super::{Operator, proxy::operator_call};
use crate::{Platform, PlatformError};

/// An operator, and the project of the path.
pub(super) struct Administration {
    pub(super) platform: Platform,
    pub(super) operator: Operator,
    pub(super) call: OperatorCall,
}

impl Administration {
    fn project(&self) -> &Project {
        &self.call.project
    }

    /// Writes to the platform's audit log.
    async fn audit<T: serde::Serialize>(&self, action: &str, details: &T) {
        let reference = self.project().reference().clone();
        let details = serde_json::to_value(details).unwrap_or_default();
        self.platform
            .audit(&self.operator, Some(&reference), action, details)
            .await;
    }
}

impl FromRequestParts<Platform> for Administration {
    type Rejection = PlatformError;

    async fn from_request_parts(
        parts: &mut Parts,
        platform: &Platform,
    ) -> Result<Self, PlatformError> {
        let operator = Operator::from_request_parts(parts, platform).await?;
        let params = RawPathParams::from_request_parts(parts, platform).await;
        let params = params.map_err(|rejection| PlatformError::Invalid(rejection.body_text()))?;
        let mut params = params.iter();
        let text = params.find(|(name, _)| *name == "ref");
        let text = text.map_or("", |(_, value)| value);
        let name = operator.project_by_name(platform, text)?;
        let project = platform.open(&name).await?;
        let call = operator_call(platform, &operator, parts, &project);
        Ok(Self {
            platform: platform.clone(),
            operator,
            call,
        })
    }
}

/// The id of a user or a session in a path.
fn parse_id(text: &str, what: &str) -> Result<Uuid, PlatformError> {
    text.parse()
        .map_err(|_| PlatformError::Invalid(format!("{text:?} is not the id of a {what}")))
}
