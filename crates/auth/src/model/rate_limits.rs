//! `plinth.auth_rate_limits`: token buckets that all nodes share.

use plinth_db::{DbError, Params, Queries};
use time::OffsetDateTime;

/// A token bucket of one client.
pub(crate) struct SharedBucket<'a> {
    pub(crate) name: &'a str,
    pub(crate) client: &'a str,
    /// Its capacity.
    pub(crate) burst: f64,
    /// How many tokens come back in a second.
    pub(crate) per_second: f64,
}

/// One statement refills the bucket, compares and takes: concurrent requests wait for each other's row
/// lock. Nothing is written if the bucket is empty. The clock is the database's, which all nodes share,
/// unless `$5` is set.
const TAKE: &str = "
    insert into plinth.auth_rate_limits as l (bucket, client, tokens, updated_at)
    values ($1, $2, $3::float8 - 1, coalesce($5::timestamptz, clock_timestamp()))
    on conflict (bucket, client) do update
    set tokens = least(
            $3::float8,
            l.tokens + $4::float8
                * greatest(0, extract(epoch from excluded.updated_at - l.updated_at)::float8)
        ) - 1,
        updated_at = greatest(l.updated_at, excluded.updated_at)
    where least(
            $3::float8,
            l.tokens + $4::float8
                * greatest(0, extract(epoch from excluded.updated_at - l.updated_at)::float8)
        ) >= 1";

/// Takes one token, if available. `now` is set by tests.
pub(crate) async fn take_token(
    db: &mut impl Queries,
    bucket: &SharedBucket<'_>,
    now: Option<OffsetDateTime>,
) -> Result<bool, DbError> {
    let params: Params<'_> = &[
        &bucket.name,
        &bucket.client,
        &bucket.burst,
        &bucket.per_second,
        &now,
    ];
    Ok(db.execute(TAKE, params).await? > 0)
}
