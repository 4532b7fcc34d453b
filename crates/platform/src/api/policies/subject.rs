//! As whom policies are tested.

use plinth_project::{IMPERSONATION_CLAIM, OperatorCall, PublicUrl};
use plinth_query::policy::SubjectClaims;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::Opened;
use crate::{Platform, PlatformError};

/// Somebody: a user, whose claims are those of its tokens, or a role with free claims.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TestSubject {
    /// A user of the project.
    #[serde(default)]
    user: Option<Uuid>,
    /// A role; `anon` if neither it nor a user is given, and the user's own otherwise.
    #[serde(default)]
    role: Option<String>,
    /// The assurance level, `aal1` or `aal2`.
    #[serde(default)]
    aal: Option<String>,
    /// Claims beside the others.
    #[serde(default)]
    claims: Map<String, Value>,
}

impl TestSubject {
    /// Its role and claims.
    pub(super) async fn claims(
        &self,
        platform: &Platform,
        opened: &Opened,
    ) -> Result<SubjectClaims, PlatformError> {
        let mut claims = match self.user {
            Some(user) => user_claims(platform, opened, user).await?,
            None => Map::new(),
        };
        claims.extend(self.claims.clone());
        if let Some(aal) = &self.aal {
            if !matches!(&**aal, "aal1" | "aal2") {
                return Err(PlatformError::Invalid(
                    "`subject.aal` is aal1 or aal2".to_owned(),
                ));
            }
            claims.insert("aal".to_owned(), json!(aal));
        }
        let own = claims.get("role").and_then(Value::as_str);
        let role = self.role.as_deref().or(own).unwrap_or("anon").to_owned();
        if role.is_empty() || role.contains('\0') {
            return Err(PlatformError::Invalid(
                "`subject.role` is no name of a role".to_owned(),
            ));
        }
        claims.insert("role".to_owned(), json!(role));
        Ok(SubjectClaims { role, claims })
    }
}

/// The claims that a token of the user would have now, the custom access token hook included.
async fn user_claims(
    platform: &Platform,
    opened: &Opened,
    user: Uuid,
) -> Result<Map<String, Value>, PlatformError> {
    let project = &opened.project;
    let call = OperatorCall {
        project: project.clone(),
        operator: "policy test".to_owned(),
        public_url: PublicUrl::new(&platform.base_url(project.reference())),
        client: None,
        user_agent: String::new(),
    };
    let mut claims = platform.users()?.claims(&call, user).await?;
    claims.remove(IMPERSONATION_CLAIM);
    Ok(claims)
}
