//! Levels that several add up to.

use metrics::Gauge;

/// What one of them adds, taken back when it is gone.
#[derive(Debug)]
pub(crate) struct Share {
    level: Gauge,
    own: usize,
}

impl Default for Share {
    /// Of a level that nobody reads.
    fn default() -> Self {
        Self::of(&Gauge::noop())
    }
}

impl Share {
    pub(crate) fn of(level: &Gauge) -> Self {
        Self {
            level: level.clone(),
            own: 0,
        }
    }

    pub(crate) fn get(&self) -> usize {
        self.own
    }

    /// Costs nothing where nothing changes.
    pub(crate) fn set(&mut self, own: usize) {
        if own != self.own {
            self.level.increment(own as f64 - self.own as f64);
            self.own = own;
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use metrics::GaugeFn;

    use super::*;

    #[derive(Default)]
    struct Level(Mutex<f64>);

    impl GaugeFn for Level {
        fn increment(&self, value: f64) {
            *self.0.lock().expect("a level") += value;
        }

        fn decrement(&self, value: f64) {
            self.increment(-value);
        }

        fn set(&self, value: f64) {
            *self.0.lock().expect("a level") = value;
        }
    }

    #[test]
    fn a_level_is_the_sum_of_those_who_are_there() {
        let level = Arc::new(Level::default());
        let gauge = Gauge::from_arc(level.clone());
        let now = || *level.0.lock().expect("a level");
        let (mut one, mut other) = (Share::of(&gauge), Share::of(&gauge));

        one.set(5);
        other.set(7);
        one.set(2);
        assert_eq!((now(), one.get()), (9.0, 2));

        drop(other);
        assert_eq!(now(), 2.0);
        drop(one);
        assert_eq!(now(), 0.0);
    }
}
