//! Everything that a project has in the bucket.

use std::{io, pin::pin, time::SystemTime};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _};
use object_store::{ObjectMeta, ObjectStore as _, path::Path};

use super::{S3Blobs, failure, unfinished::Notes};
use crate::blobs::{
    Version,
    inventory::{Place, Stored},
};

/// Blobs that go at a time: as many as a store removes with one request.
const BATCH: usize = 1000;

impl S3Blobs {
    /// Whole blobs as the store lists them, then those that are on their way.
    pub(in crate::blobs) fn inventory(
        &self,
    ) -> impl Stream<Item = io::Result<Stored>> + Send + use<> {
        let prefix = Path::from(format!("{}/blobs", self.0.prefix));
        let whole = self.client().list(Some(&prefix)).map_err(failure);
        let whole = whole.try_filter_map(async |meta| Ok(whole_blob(&meta)));
        let unfinished = self.all_notes().map_ok(|notes| noted_blob(&notes));
        whole.chain(unfinished)
    }

    /// Whether bytes that were listed are still there.
    pub(in crate::blobs) async fn still_has(&self, stored: &Stored) -> io::Result<bool> {
        match stored.place {
            Place::Whole => Ok(self.size(&stored.version).await?.is_some()),
            Place::Growing | Place::Unfinished => self.has_notes(&stored.version).await,
        }
    }

    /// Removes everything.
    pub(crate) async fn clear(&self) -> io::Result<()> {
        let mut all = pin!(self.inventory().try_chunks(BATCH));
        while let Some(batch) = all.try_next().await.map_err(|cut| cut.1)? {
            let versions: Vec<_> = batch.iter().map(|stored| stored.version).collect();
            let removal = self.remove_all(&versions).await;
            removal.failure.map_or(Ok(()), |(_, error)| Err(error))?;
        }
        Ok(())
    }
}

/// `None` for what somebody else has put there.
fn whole_blob(meta: &ObjectMeta) -> Option<Stored> {
    Some(Stored {
        version: Version::parse(meta.location.filename()?)?,
        place: Place::Whole,
        size: meta.size,
        modified: SystemTime::from(meta.last_modified),
    })
}

/// How many bytes a single request has brought so far, the store does not tell.
fn noted_blob(notes: &Notes) -> Stored {
    Stored {
        version: notes.version,
        place: match notes.offset {
            Some(_) => Place::Growing,
            None => Place::Unfinished,
        },
        size: notes.offset.unwrap_or_default(),
        modified: notes.modified,
    }
}
