//! Identities of a user (client contract S77, S78). Linking begins in
//! `sign_in::oauth` and `sign_in::id_token`.

use super::{Auth, AuthError};
use crate::user::Identity;

impl Auth {
    /// The signed-in user's identities.
    pub async fn identities(&self) -> Result<Vec<Identity>, AuthError> {
        let user = self.user().await?;
        Ok(user.identities().to_vec())
    }

    /// Unlinks one, by its [`Identity::identity_id`].
    pub async fn unlink_identity(&self, identity_id: &str) -> Result<(), AuthError> {
        let session = self.signed_in().await?;
        let token = session.access_token();
        self.api().unlink_identity(token, identity_id).await?;
        // The stored user is outdated now.
        let user = self.user_for(token).await?;
        self.engine.replace_user(&user).await
    }
}
