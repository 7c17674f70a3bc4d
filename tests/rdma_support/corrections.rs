//! Where rdma(8) is wrong in a way that can be put right in its output: the case is compared after that.

use super::Case;
use super::poll_context::poll_context;

/// What rdma(8) should have printed.
pub(crate) fn expected(case: &Case) -> String {
    wide_details(&right(&case.stdout))
}

/// The same for what is no made case.
pub(crate) fn right(stdout: &str) -> String {
    poll_context(stdout)
}

/// rdma(8) prints 0 in JSON for a driver detail of 64 bits; its text is right. The made cases have these.
fn wide_details(text: &str) -> String {
    let wide = [("big", 1_i64 << 40), ("bighex", 1 << 40), ("nb", -1 << 40)];
    wide.iter().fold(text.to_owned(), |text, (key, value)| {
        ["", " "].iter().fold(text, |text, space| {
            text.replace(&format!("\"drv_{key}\":{space}0"), &format!("\"drv_{key}\":{space}{value}"))
        })
    })
}

/// Our output as the recorded version of the tool would have it.
pub(crate) fn ours(case: &Case, text: &str) -> String {
    // iproute2 6.15.0 does not know the limits of 7.3.
    let is_summary = case.command.iter().any(|word| word.starts_with("res"))
        && case.command.last().is_some_and(|word| word == "show");
    if is_summary && !case.new_tool { without_limits(text) } else { text.to_owned() }
}

/// `pd 4/100 ` becomes `pd 4 `, `"pd":4,"pd-max":100` becomes `"pd":4`.
fn without_limits(text: &str) -> String {
    let line = |line: &str| {
        if line.contains('{') {
            let fields = line.split(',').filter(|field| !field.contains("-max\":"));
            let mut kept = fields.collect::<Vec<_>>().join(",");
            if line.ends_with('}') && !kept.ends_with('}') {
                kept.push('}');
            }
            kept
        } else {
            let words = line.split(' ').map(|word| word.split('/').next().unwrap_or_default());
            words.collect::<Vec<_>>().join(" ")
        }
    };
    text.lines().map(|text| line(text) + "\n").collect()
}
