//! The table at the end of a test run, and its last line.

use anyhow::{Result, bail};

use super::libtest::Counts;
use crate::report::{Timing, seconds};

/// What ran and how it ended.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    rows: Vec<Row>,
    unprepared: u32,
}

#[derive(Debug)]
struct Row {
    name: String,
    counts: Counts,
}

impl Summary {
    /// A check that counts as one test.
    pub(crate) fn check(&mut self, name: &str, passed: bool) {
        let counts = Counts { passed: u32::from(passed), failed: u32::from(!passed), ignored: 0 };
        self.rows.push(Row { name: name.to_owned(), counts });
    }

    /// A test program; one that failed without a failed test (it did not build) counts as one.
    pub(crate) fn tests(&mut self, name: &str, mut counts: Counts, passed: bool) {
        if !passed && counts.failed == 0 {
            counts.failed = 1;
        }
        self.rows.push(Row { name: name.to_owned(), counts });
    }

    /// Work that is no test; when it failed, the run has failed.
    pub(crate) fn prepared(&mut self, done: bool) {
        self.unprepared += u32::from(!done);
    }

    /// Prints the table and the last line; an error when anything failed.
    pub(crate) fn print(&self, timings: &[Timing]) -> Result<()> {
        println!("\n{:<44} {:>12} {:>7} {:>7}", "PHASE", "TIME", "PASSED", "FAILED");
        for timing in timings {
            let (passed, failed) = match self.rows.iter().find(|row| row.name == timing.name) {
                Some(row) => (row.counts.passed.to_string(), row.counts.failed.to_string()),
                None if timing.passed => (String::new(), String::new()),
                None => (String::new(), "broke".to_owned()),
            };
            println!("{:<44} {:>12} {passed:>7} {failed:>7}", timing.name, seconds(timing.took));
        }
        let total = self.total();
        println!("{} tests and checks ran\n", total.ran());
        println!("{} passed, {} failed, {} skipped", total.passed, total.failed, total.ignored);
        if total.failed > 0 {
            bail!("{} failed", total.failed);
        }
        Ok(())
    }

    fn total(&self) -> Counts {
        let start = Counts { failed: self.unprepared, ..Counts::default() };
        self.rows.iter().fold(start, |sum, row| sum.plus(row.counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_did_not_build_is_a_failure() {
        let mut summary = Summary::default();
        summary.check("fmt", true);
        summary.tests("tests", Counts::default(), false);
        assert_eq!(summary.total(), Counts { passed: 1, failed: 1, ignored: 0 });
        assert!(summary.print(&[]).is_err());
    }
}
