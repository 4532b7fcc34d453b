//! Limits that all nodes count together, in the database: `/token` and `/verify`, where secrets can be
//! guessed. The node's own bucket is asked first, so that a flood does not reach the database.

use plinth_db::Queries;

use super::{Bucket, check_by, is_exempt};
use crate::{
    AuthError,
    config::{Rate, Refill},
    model::rate_limits::{self, SharedBucket},
    request::RequestContext,
};

/// As [`super::check`], counted by all nodes together if the settings say so.
pub(crate) async fn check_shared(
    context: &RequestContext,
    bucket: Bucket,
) -> Result<(), AuthError> {
    if is_exempt(context, bucket) {
        return Ok(());
    }
    let key = context.client.rate_key.as_str();
    check_by(context, bucket, key)?;
    if !context.config.rates.is_shared {
        return Ok(());
    }
    let mut db = context.db().await?;
    take_token(context, &mut db, bucket, key).await
}

/// As [`check_shared`], with another key than the client's, on the connection of the request. In a
/// transaction, the request is counted once that is committed.
pub(crate) async fn check_shared_by(
    context: &RequestContext,
    db: &mut impl Queries,
    bucket: Bucket,
    key: &str,
) -> Result<(), AuthError> {
    check_by(context, bucket, key)?;
    if context.config.rates.is_shared {
        take_token(context, db, bucket, key).await
    } else {
        Ok(())
    }
}

async fn take_token(
    context: &RequestContext,
    db: &mut impl Queries,
    bucket: Bucket,
    key: &str,
) -> Result<(), AuthError> {
    let Rate { count, per, refill } = bucket.limit(&context.config.rates).rate;
    let burst = match refill {
        Refill::Steady { burst } => burst,
        Refill::AtOnce => count,
    };
    let shared = SharedBucket {
        name: bucket.name(),
        client: key,
        burst,
        per_second: count / per.as_secs_f64().max(f64::MIN_POSITIVE),
    };
    let now = context.service.clock().manual_time();
    if rate_limits::take_token(db, &shared, now).await? {
        Ok(())
    } else {
        Err(AuthError::over_request_rate_limit())
    }
}
