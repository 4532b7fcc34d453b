//! The memory that all images together may take while they are rendered.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::too_many_pixels;
use crate::error::StorageError;

/// A semaphore counts in these, since its permits are 32 bits wide.
const UNIT: u64 = 4096;

/// Bytes that may be reserved at the same time.
pub(super) struct MemoryBudget {
    free: Arc<Semaphore>,
    total: u32,
}

/// Bytes of the budget, until it is dropped.
pub(super) struct Reservation {
    permit: OwnedSemaphorePermit,
}

impl MemoryBudget {
    pub(super) fn new(bytes: u64) -> Self {
        let total = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX);
        // Half of what an `usize` can count on a machine of 32 bits.
        let total = total.min(u32::MAX >> 4);
        Self {
            free: Arc::new(Semaphore::new(total as usize)),
            total,
        }
    }

    /// Waits for that much, in the order of the requests; an error if there will never be.
    pub(super) async fn reserve(&self, bytes: u64) -> Result<Reservation, StorageError> {
        let units = self.units(bytes)?;
        let permit = self.free.clone().acquire_many_owned(units).await;
        let permit = permit.map_err(StorageError::internal)?;
        Ok(Reservation { permit })
    }

    /// Makes a reservation as large as that, if there is as much and no request waits; else an
    /// error if there will never be, and `false` if it must be waited for. Waiting while something
    /// is reserved could wait for others that do the same.
    pub(super) fn try_grow(
        &self,
        reservation: &mut Reservation,
        bytes: u64,
    ) -> Result<bool, StorageError> {
        let units = self.units(bytes)? as usize;
        let more = units.saturating_sub(reservation.permit.num_permits());
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        let Ok(permit) = self.free.clone().try_acquire_many_owned(more) else {
            return Ok(false);
        };
        reservation.permit.merge(permit);
        Ok(true)
    }

    fn units(&self, bytes: u64) -> Result<u32, StorageError> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        if units > self.total {
            return Err(too_many_pixels());
        }
        Ok(units)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    #[tokio::test]
    async fn what_does_not_fit_waits_in_order() {
        let budget = MemoryBudget::new(10 * MEGABYTE);
        let first = budget.reserve(8 * MEGABYTE).await.expect("free");
        let mut large = Box::pin(budget.reserve(9 * MEGABYTE));
        assert!(large.as_mut().now_or_never().is_none());
        let mut small = Box::pin(budget.reserve(MEGABYTE));
        let overtakes = small.as_mut().now_or_never().is_some();
        assert!(!overtakes, "a large image would wait for ever");

        drop(first);

        let large = large.await.expect("free again");
        assert!(small.as_mut().now_or_never().is_some_and(|got| got.is_ok()));
        drop(large);
    }

    #[tokio::test]
    async fn more_than_the_whole_is_rejected() {
        let budget = MemoryBudget::new(10 * MEGABYTE);
        budget.reserve(10 * MEGABYTE).await.expect("all of it");
        let rejected = budget.reserve(10 * MEGABYTE + 1).await.err();
        let rejected = rejected.expect("rejected").to_string();
        assert_eq!(rejected, too_many_pixels().to_string());
        assert!(budget.reserve(u64::MAX).await.is_err());
    }

    #[tokio::test]
    async fn a_reservation_grows_only_while_no_other_waits() {
        let budget = MemoryBudget::new(10 * MEGABYTE);
        let mut grown = budget.reserve(MEGABYTE).await.expect("free");
        assert!(budget.try_grow(&mut grown, 4 * MEGABYTE).expect("possible"));
        assert!(budget.try_grow(&mut grown, 2 * MEGABYTE).expect("enough"));
        let _other = budget.reserve(5 * MEGABYTE).await.expect("free");
        assert!(!budget.try_grow(&mut grown, 6 * MEGABYTE).expect("possible"));
        assert!(budget.try_grow(&mut grown, 11 * MEGABYTE).is_err());
        let mut waiting = Box::pin(budget.reserve(2 * MEGABYTE));
        assert!(waiting.as_mut().now_or_never().is_none());
        assert!(!budget.try_grow(&mut grown, 5 * MEGABYTE).expect("possible"));

        drop(grown);

        assert!(waiting.now_or_never().is_some());
    }
}
