//! The limit of open files: every connection takes one, and a shell gives 1,024 of them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As in the systemd unit. PostgreSQL inherits the limit and needs no more.
const MAX_OPEN_FILES: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows.
pub(super) fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(limit) else {
        return;
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
}

/// `None` if the limit is high enough. A limit of `None` is unlimited.
fn raised(limit: Rlimit) -> Option<Rlimit> {
    let wanted = limit.maximum.unwrap_or(u64::MAX).min(MAX_OPEN_FILES);
    let is_lower = limit.current.is_some_and(|current| current < wanted);
    is_lower.then_some(Rlimit {
        current: Some(wanted),
        maximum: limit.maximum,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(current: Option<u64>, maximum: Option<u64>) -> Rlimit {
        Rlimit { current, maximum }
    }

    #[test]
    fn the_soft_limit_is_raised_up_to_the_hard_one() {
        let raise = |current, maximum| raised(limit(current, maximum)).map(|raised| raised.current);
        assert_eq!(raise(Some(1024), Some(4096)), Some(Some(4096)));
        assert_eq!(raise(Some(1024), Some(1 << 20)), Some(Some(MAX_OPEN_FILES)));
        assert_eq!(raise(Some(1024), None), Some(Some(MAX_OPEN_FILES)));
    }

    #[test]
    fn a_limit_that_is_high_enough_stays() {
        for current in [Some(MAX_OPEN_FILES), Some(1 << 20), None] {
            assert!(raised(limit(current, None)).is_none());
        }
        assert!(raised(limit(Some(512), Some(512))).is_none());
    }
}
