//! Gauges that several values add up to.

use metrics::Gauge;

/// One summand of a gauge, subtracted when it is dropped.
#[derive(Debug)]
pub(crate) struct GaugeShare {
    gauge: Gauge,
    value: usize,
}

impl Default for GaugeShare {
    /// A share of a gauge that is not read.
    fn default() -> Self {
        Self::new(&Gauge::noop())
    }
}

impl GaugeShare {
    pub(crate) fn new(gauge: &Gauge) -> Self {
        Self {
            gauge: gauge.clone(),
            value: 0,
        }
    }

    pub(crate) fn get(&self) -> usize {
        self.value
    }

    pub(crate) fn set(&mut self, value: usize) {
        if value != self.value {
            self.gauge.increment(value as f64 - self.value as f64);
            self.value = value;
        }
    }
}

impl Drop for GaugeShare {
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
    struct TestGauge(Mutex<f64>);

    impl GaugeFn for TestGauge {
        fn increment(&self, value: f64) {
            *self.0.lock().expect("the value") += value;
        }

        fn decrement(&self, value: f64) {
            self.increment(-value);
        }

        fn set(&self, value: f64) {
            *self.0.lock().expect("the value") = value;
        }
    }

    #[test]
    fn a_gauge_is_the_sum_of_its_shares() {
        let recorded = Arc::new(TestGauge::default());
        let gauge = Gauge::from_arc(recorded.clone());
        let now = || *recorded.0.lock().expect("the value");
        let (mut one, mut other) = (GaugeShare::new(&gauge), GaugeShare::new(&gauge));

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
