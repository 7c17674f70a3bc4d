//! Growing pauses between attempts.

use std::time::Duration;

use crate::pool::name::fnv1a;

/// Pauses from `min`, doubling to `max`, each shortened by up to a quarter so that resources do not retry in step.
#[derive(Debug)]
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    seed: u64,
    attempt: u32,
}

impl Backoff {
    /// `name` sets the jitter apart from that of others.
    pub(crate) fn new(name: &str, min: Duration, max: Duration) -> Self {
        // Pods of one node differ by resource, those of a cluster by process.
        let seed = fnv1a(name.as_bytes()) ^ fnv1a(&std::process::id().to_be_bytes());
        Self { min, max, seed, attempt: 0 }
    }

    /// The next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let full = self.min.saturating_mul(1 << self.attempt.min(20)).min(self.max);
        self.attempt = self.attempt.saturating_add(1);
        let noise = fnv1a(&(self.seed ^ u64::from(self.attempt)).to_be_bytes()) >> 48;
        // 16 random bits: 65535 takes a quarter away.
        full - full.mul_f64(noise as f64 / 65_536.0 / 4.0)
    }

    /// Starts over.
    pub(crate) fn reset(&mut self) {
        self.attempt = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_cap() {
        let mut backoff = Backoff::new("rdma/rxe0", Duration::from_millis(100), Duration::from_secs(30));
        let pauses: Vec<Duration> = (0..100).map(|_| backoff.next()).collect();
        for (attempt, pause) in pauses.iter().enumerate() {
            let full = Duration::from_millis(100 << attempt.min(12)).min(Duration::from_secs(30));
            assert!(*pause <= full && *pause >= full.mul_f64(0.75), "{attempt}: {pause:?}");
        }
        backoff.reset();
        assert!(backoff.next() <= Duration::from_millis(100));
    }
}
