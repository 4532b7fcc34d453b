//! The way out of a mail: checks, then the mail server or the mailbox.

use plinth_db::Queries;
use serde_json::Value;

use super::{kind::Kind, mailbox, message};
use crate::{AuthError, request::Context};

/// Sends one letter, or the two that belong together, each with what it is filled with.
pub(super) async fn deliver(
    context: &Context,
    db: &mut impl Queries,
    kind: Kind,
    letters: &[(&str, Value)],
) -> Result<(), AuthError> {
    for (to, data) in letters {
        let message = message::compose(context, kind, to, data).await;
        mailbox::keep(context, db, &message)
            .await
            .map_err(|error| AuthError::database(kind.failure(), error))?;
    }
    Ok(())
}
