//! Reads what `cargo test` printed: how many tests ran, in which program, and how they ended.

/// How many tests ended how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
}

impl Counts {
    /// How many ran.
    pub(crate) fn ran(self) -> u32 {
        self.passed + self.failed
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            ignored: self.ignored + other.ignored,
        }
    }
}

/// Sums the `test result:` lines. Tests of the programs in `elsewhere` that were ignored do not count: another
/// phase runs them.
pub(crate) fn count(output: &str, elsewhere: &[&str]) -> Counts {
    let mut total = Counts::default();
    let mut here = true;
    for line in output.lines().map(str::trim) {
        if let Some(program) = line.strip_prefix("Running ") {
            here = !elsewhere.iter().any(|name| {
                program.contains(&format!("tests/{name}.rs"))
                    || program.contains(&format!("tests/{name}/main.rs"))
            });
        } else if line.starts_with("Doc-tests ") {
            here = true;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            let mut counts = parse(result);
            if !here {
                counts.ignored = 0;
            }
            total = total.plus(counts);
        }
    }
    total
}

/// The names of the tests that failed.
pub(crate) fn failed(output: &str) -> Vec<&str> {
    output.lines().filter_map(|line| line.trim().strip_prefix("test ")?.strip_suffix(" ... FAILED")).collect()
}

/// Reads `ok. 12 passed; 0 failed; 1 ignored; …`.
fn parse(result: &str) -> Counts {
    let number = |word: &str| {
        result
            .split([';', '.'])
            .filter_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
            .next()
            .unwrap_or(0)
    };
    Counts { passed: number("passed"), failed: number("failed"), ignored: number("ignored") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_tests_are_named() {
        assert_eq!(failed("test a::b ... ok\ntest a::c ... FAILED\n"), ["a::c"]);
    }

    #[test]
    fn results_of_all_programs_are_summed() {
        let output = "\
            Running unittests src/lib.rs (target/debug/deps/a-1)\n\
            test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\n\
            Running tests/e2e/main.rs (target/debug/deps/e2e-1)\n\
            test result: ok. 0 passed; 0 failed; 9 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
            Doc-tests rdma_operator\n\
            test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.00s\n";
        assert_eq!(count(output, &["e2e"]), Counts { passed: 13, failed: 2, ignored: 2 });
        assert_eq!(count(output, &[]).ignored, 11);
    }
}
