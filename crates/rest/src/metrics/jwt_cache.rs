//! PostgREST's metrics of the JWT cache. Only `plinth serve rest` has them: in the full server the
//! platform verifies tokens.

use std::sync::OnceLock;

use metrics::{Counter, counter, describe_counter};
use plinth_token::TokenCache;

const REQUESTS: &str = "pgrst_jwt_cache_requests_total";
const HITS: &str = "pgrst_jwt_cache_hits_total";
const EVICTIONS: &str = "pgrst_jwt_cache_evictions_total";

/// Handles are looked up once, because every request updates them. Unset in the full server.
static COUNTERS: OnceLock<[Counter; 3]> = OnceLock::new();

/// Registers the counters, so that they are exported with 0 from the start.
pub(super) fn describe() {
    for (name, help) in [
        (REQUESTS, "The total number of JWT cache lookups"),
        (HITS, "The total number of JWT cache hits"),
        (EVICTIONS, "The total number of JWT cache evictions"),
    ] {
        describe_counter!(name, help);
        counter!(name).absolute(0);
    }
    COUNTERS.get_or_init(|| [REQUESTS, HITS, EVICTIONS].map(|name| counter!(name)));
}

/// Exports the counts that the cache keeps itself.
pub(crate) fn publish(cache: &TokenCache) {
    let Some([requests, hits, evictions]) = COUNTERS.get() else {
        return;
    };
    let counts = cache.counts();
    requests.absolute(counts.requests);
    hits.absolute(counts.hits);
    evictions.absolute(counts.evictions);
}
