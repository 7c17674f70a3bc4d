//! What goes wrong on the way through a host: noted, and the reading goes on.

use super::model::{Inventory, Problem};
use crate::nl;
use crate::telemetry::chain;

/// Failures in the order they were met.
#[derive(Debug, Default)]
pub(super) struct Problems(pub(super) Vec<Problem>);

impl Problems {
    /// A kernel without RDMA is a state, not a problem.
    pub(super) fn open(&mut self, handle: nl::Result<nl::Handle>) -> Option<nl::Handle> {
        match handle {
            Err(error) if error.is_no_rdma() => None,
            other => self.ok(None, other),
        }
    }

    /// The value, or nothing and a note; `device` is the device concerned, if only one is.
    pub(super) fn ok<T, E: std::error::Error + 'static>(
        &mut self,
        device: Option<&str>,
        result: Result<T, E>,
    ) -> Option<T> {
        result.map_err(|error| self.note(device, &error)).ok()
    }

    pub(super) fn note(&mut self, device: Option<&str>, error: &(dyn std::error::Error + 'static)) {
        let message = error.source().map_or_else(|| "no reason given".to_owned(), chain);
        self.say(device, &error.to_string(), message);
    }

    pub(super) fn say(&mut self, device: Option<&str>, what: &str, message: String) {
        let problem = Problem { device: device.map(Into::into), what: what.into(), message };
        // What is polled fails again and again.
        match self.0.iter_mut().find(|known| (&known.device, &known.what) == (&problem.device, &problem.what))
        {
            Some(known) => *known = problem,
            None => self.0.push(problem),
        }
    }

    /// What was not read again has the problems it had.
    pub(super) fn keep(&mut self, last: &Inventory, which: impl Fn(&Problem) -> bool) {
        self.0.extend(last.problems.iter().filter(|problem| which(problem)).cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_again_is_one_problem_with_its_newest_message() {
        let mut problems = Problems::default();
        problems.say(Some("mlx5_0"), "PORT_GET", "EIO".into());
        problems.say(Some("mlx5_1"), "PORT_GET", "EIO".into());
        let mut again = Problems::default();
        again.keep(&Inventory { problems: problems.0, ..Inventory::default() }, |_| true);
        again.say(Some("mlx5_0"), "PORT_GET", "ENODEV".into());
        let said: Vec<_> = again.0.iter().map(|p| (p.device.as_deref(), p.message.as_str())).collect();
        assert_eq!(said, [(Some("mlx5_0"), "ENODEV"), (Some("mlx5_1"), "EIO")]);
    }
}
