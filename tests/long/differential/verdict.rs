//! Whether two outputs are the same, and which differences are known.

use super::rdma_support::{Outcome, corrections};
use super::tool::Theirs;

/// What a comparison says.
pub(super) enum Verdict {
    Equal,
    /// A known difference, and why.
    Excepted(&'static str),
    /// The first line that differs.
    Different(String),
}

/// Our output as a fault of rdma(8) would have made it.
type Fault = (&'static str, fn(&str) -> String);

const FAULTS: [Fault; 4] = [
    ("rdma(8) calls port space IB IPoIB", |text| word(text, "ps", "IB", "IPoIB")),
    ("rdma(8) has no name for two states of a CM id", |text| {
        word(&word(text, "state", "ADDRINFO_QUERY", "UNKNOWN"), "state", "ADDRINFO_RESOLVED", "UNKNOWN")
    }),
    ("rdma(8) prints raw bytes without commas in text", raw),
    ("rdma(8) prints driver numbers in JSON as signed 32-bit ones", narrow_details),
];

/// Compares.
pub(super) fn judge(theirs: &Theirs, ours: &Outcome) -> Verdict {
    let Some(code) = theirs.code else { return Verdict::Excepted("rdma(8) crashed or hung") };
    let expected = corrections::right(&theirs.stdout);
    if expected == ours.stdout && Some(code) == ours.code {
        return Verdict::Equal;
    }
    let (mut text, mut reason) = (ours.stdout.clone(), None);
    for (why, fault) in FAULTS {
        let faulty = fault(&text);
        if faulty != text {
            (text, reason) = (faulty, Some(why));
        }
    }
    if let Some(reason) = reason.filter(|_| expected == text && Some(code) == ours.code) {
        return Verdict::Excepted(reason);
    }
    let is_beginning = text.starts_with(expected.trim_end_matches(['\n', '[', ']', '}', ' ']));
    if code != 0 && is_beginning && ours.code != Some(0) {
        return Verdict::Excepted("rdma(8) gives up after the first failure, we go on with the rest");
    }
    if code != 0 && is_beginning {
        return Verdict::Excepted(
            "rdma(8) gives up at an object without an attribute it counts on, we print what there is",
        );
    }
    Verdict::Different(first_difference(&expected, &text, theirs, ours))
}

/// Another word for the value of a field.
fn word(text: &str, key: &str, right: &str, faulty: &str) -> String {
    text.replace(&format!("{key} {right} "), &format!("{key} {faulty} "))
        .replace(&format!("\"{key}\":\"{right}\""), &format!("\"{key}\":\"{faulty}\""))
        .replace(&format!("\"{key}\": \"{right}\""), &format!("\"{key}\": \"{faulty}\""))
}

/// `data <1,2>` becomes `12>`.
fn raw(text: &str) -> String {
    let mut parts = text.split("data <");
    let mut joined = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (bytes, rest) = part.split_once('>').unwrap_or((part, ""));
        joined.push_str(&format!("{}>{rest}", bytes.replace(',', "")));
    }
    joined
}

fn narrow_details(text: &str) -> String {
    let mut parts = text.split("\"drv_");
    let mut narrowed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        narrowed.push_str("\"drv_");
        let value = part.find("\":").map_or(part.len(), |at| at + 2);
        let value = value + part[value..].len() - part[value..].trim_start().len();
        let end = part[value..].find([',', '}', '\n']).map_or(part.len(), |at| value + at);
        narrowed.push_str(&part[..value]);
        match part[value..end].parse::<i128>() {
            // Only the lowest 32 bits, as signed.
            Ok(number) => narrowed.push_str(
                &i32::from_ne_bytes((u32::try_from(number & 0xffff_ffff).unwrap()).to_ne_bytes()).to_string(),
            ),
            Err(_) => narrowed.push_str(&part[value..end]),
        }
        narrowed.push_str(&part[end..]);
    }
    narrowed
}

fn first_difference(expected: &str, text: &str, theirs: &Theirs, ours: &Outcome) -> String {
    let (mut left, mut right) = (expected.lines(), text.lines());
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
