//! Segments are read by a few threads at once. They end with the search that started them.

use std::{num::NonZeroUsize, panic, thread};

/// A search is not to take the machine from the requests that it reports about.
const MAX_THREADS: usize = 4;

/// How many parts are worth it.
pub(crate) fn threads() -> usize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    cores.min(MAX_THREADS)
}

/// The results for all items, in their order; each item has a thread.
pub(crate) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let Some((first, others)) = items.split_first() else {
        return Vec::new();
    };
    thread::scope(|scope| {
        let work = &work;
        let others: Vec<_> = others
            .iter()
            .map(|item| scope.spawn(move || work(item)))
            .collect();
        let mut results = vec![work(first)];
        results.extend(others.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(cause) => panic::resume_unwind(cause),
        }));
        results
    })
}

/// The results for parts of about the same size.
pub(crate) fn map_parts<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let parts: Vec<&[T]> = items
        .chunks(items.len().div_ceil(threads()).max(1))
        .collect();
    map(&parts, |part| work(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        assert_eq!(map(&[3, 1, 2], |number| number * 2), [6, 2, 4]);
        assert_eq!(map(&[], |number: &i32| *number), [0; 0]);
    }

    #[test]
    fn parts_are_all_items() {
        let items: Vec<u32> = (0..101).collect();

        let sums = map_parts(&items, |part| part.iter().sum::<u32>());

        assert!(sums.len() <= MAX_THREADS, "{sums:?}");
        assert_eq!(sums.iter().sum::<u32>(), 5050);
        assert!(map_parts(&[], |part: &[u32]| part.len()).is_empty());
    }
}
