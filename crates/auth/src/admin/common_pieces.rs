//! Cached statistics of the indexes that find users by pieces of a text: reading them for every
//! search would cost as much as the search.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;

use crate::model::user_list::CommonPieces;

/// PostgreSQL analyzes a table again only after many changes.
const TTL: Duration = Duration::from_secs(60);

/// The statistics of one project.
#[derive(Default)]
pub(crate) struct CommonPiecesCache(Mutex<Option<Entry>>);

struct Entry {
    read_at: OffsetDateTime,
    pieces: Option<Arc<CommonPieces>>,
}

impl CommonPiecesCache {
    /// The statistics; `None` where a schema that another program made has no such index.
    pub(crate) async fn get(
        &self,
        db: &mut impl Queries,
        now: OffsetDateTime,
    ) -> Result<Option<Arc<CommonPieces>>, DbError> {
        if let Some(pieces) = self.cached(now) {
            return Ok(pieces);
        }
        let pieces = CommonPieces::read(db).await?.map(Arc::new);
        *self.lock() = Some(Entry {
            read_at: now,
            pieces: pieces.clone(),
        });
        Ok(pieces)
    }

    fn cached(&self, now: OffsetDateTime) -> Option<Option<Arc<CommonPieces>>> {
        let entry = self.lock();
        let entry = entry.as_ref()?;
        let is_fresh = now >= entry.read_at && now < entry.read_at + TTL;
        is_fresh.then(|| entry.pieces.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Option<Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
