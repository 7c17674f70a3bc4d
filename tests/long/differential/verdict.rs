//! Whether two outputs are the same, and which differences are known.

use super::rdma_support::{Case, Outcome, corrections};
use super::tool::Theirs;

/// What a comparison says.
pub(super) enum Verdict {
    Equal,
    /// A known difference, and why.
    Excepted(&'static str),
    /// The first line that differs.
    Different(String),
}

/// Compares.
pub(super) fn judge(case: &Case, theirs: &Theirs, ours: &Outcome) -> Verdict {
    let Some(code) = theirs.code else { return Verdict::Excepted("rdma(8) crashed or hung") };
    let expected = corrections::right(&theirs.stdout);
    if expected == ours.stdout && Some(code) == ours.code {
        return Verdict::Equal;
    }
    if code != 0
        && ours.code != Some(0)
        && ours.stdout.starts_with(expected.trim_end_matches(['\n', ']', ' ']))
    {
        return Verdict::Excepted("rdma(8) gives up after the first failure, we go on with the rest");
    }
    Verdict::Different(first_difference(&expected, theirs, ours, case))
}

fn first_difference(expected: &str, theirs: &Theirs, ours: &Outcome, _case: &Case) -> String {
    let (mut left, mut right) = (expected.lines(), ours.stdout.lines());
    loop {
        let lines = (left.next(), right.next());
        if lines.0 != lines.1 || lines.0.is_none() {
            return format!(
                "  rdma(8), exit {:?}: {:?}\n  we, exit {:?}:      {:?}\n  {}{}",
                theirs.code, lines.0, ours.code, lines.1, theirs.stderr, ours.stderr
            );
        }
    }
}
