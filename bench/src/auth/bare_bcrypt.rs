//! Password hashing alone, on all cores: an upper bound for sign-ins.

use std::{
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;

use super::users;

/// Comparisons per second, all threads together.
pub(crate) fn run(duration: Duration) -> anyhow::Result<f64> {
    let hash = users::hash()?;
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let counts: Vec<anyhow::Result<u32>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| compare_until(begun + duration, &hash)))
            .collect();
        let joined = running.into_iter().map(|thread| {
            let count = thread.join();
            count.unwrap_or_else(|_| anyhow::bail!("a thread panicked"))
        });
        joined.collect()
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let total: u32 = counts.into_iter().sum::<anyhow::Result<u32>>()?;
    Ok(f64::from(total) / elapsed)
}

fn compare_until(end: Instant, hash: &str) -> anyhow::Result<u32> {
    let mut count = 0;
    while Instant::now() < end {
        let is_match = bcrypt::verify(users::PASSWORD, hash).is_ok_and(|is_match| is_match);
        ensure!(is_match, "a password is not itself");
        count += 1;
    }
    Ok(count)
}
