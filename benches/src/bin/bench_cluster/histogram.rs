//! Latencies in buckets of constant relative width, as HDR histograms have them: no sample is dropped or averaged away.

use std::time::Duration;

/// Buckets for each doubling: a value is known within 0.8 %.
const BUCKETS_PER_DOUBLING: u64 = 128;
const BITS: u32 = BUCKETS_PER_DOUBLING.trailing_zeros();

/// Counts of durations, in microseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum_us: u64,
    max_us: u64,
}

fn bucket_of(us: u64) -> usize {
    if us < BUCKETS_PER_DOUBLING {
        return us as usize;
    }
    let shift = us.ilog2() - BITS;
    // Bit BITS of `us >> shift` is always set, so that each doubling has its own run of buckets.
    (u64::from(shift) * BUCKETS_PER_DOUBLING + (us >> shift)) as usize
}

/// The largest value that falls into a bucket.
fn top_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * BUCKETS_PER_DOUBLING {
        return bucket;
    }
    let shift = bucket / BUCKETS_PER_DOUBLING - 1;
    let value = BUCKETS_PER_DOUBLING + bucket % BUCKETS_PER_DOUBLING;
    ((value + 1) << shift) - 1
}

impl Histogram {
    /// Counts one.
    pub(crate) fn record(&mut self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = bucket_of(us);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.sum_us = self.sum_us.saturating_add(us);
        self.max_us = self.max_us.max(us);
    }

    /// The value that this share of all is not above, in milliseconds; NaN where nothing was counted.
    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        if self.total == 0 {
            return f64::NAN;
        }
        let wanted = ((self.total as f64 * share).ceil() as u64).clamp(1, self.total);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return top_of(bucket).min(self.max_us) as f64 / 1e3;
            }
        }
        self.max_us as f64 / 1e3
    }

    /// The figures that a report shows, in milliseconds.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "count": self.total,
            "mean_ms": self.sum_us as f64 / 1e3 / self.total.max(1) as f64,
            "p50_ms": self.quantile_ms(0.5),
            "p90_ms": self.quantile_ms(0.9),
            "p95_ms": self.quantile_ms(0.95),
            "p99_ms": self.quantile_ms(0.99),
            "p999_ms": self.quantile_ms(0.999),
            "max_ms": self.max_us as f64 / 1e3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_that_ends_less_than_a_hundredth_above_it() {
        for us in (0..100_000).chain((17..40).map(|bit| (1_u64 << bit) + 12_345)) {
            let top = top_of(bucket_of(us));
            assert!(top >= us && (top - us) as f64 <= us as f64 / 100.0, "{us} lies in a bucket up to {top}");
            assert!(bucket_of(top + 1) == bucket_of(us) + 1, "{us}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|ms| histogram.record(Duration::from_millis(ms)));
        for (share, ms) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (1.0, 1000.0)] {
            let found = histogram.quantile_ms(share);
            assert!((ms..ms * 1.01).contains(&found), "{share}: {found}");
        }
        assert_eq!(histogram.total, 1000);
        assert!(Histogram::default().quantile_ms(0.5).is_nan());
    }
}
