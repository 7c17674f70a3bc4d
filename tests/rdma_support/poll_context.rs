//! One correction of rdma(8)'s output, for the recorded cases and for those on the lab.

/// rdma(8)'s table of poll contexts begins with DIRECT, the kernel's enum ib_poll_context ends with it: each name
/// is that of the one before.
pub(crate) fn poll_context(text: &str) -> String {
    const SHOWN: [(&str, &str); 4] = [
        ("DIRECT", "SOFTIRQ"),
        ("SOFTIRQ", "WORKQUEUE"),
        ("WORKQUEUE", "UNBOUND_WORKQUEUE"),
        ("UNBOUND_WORKQUEUE", "DIRECT"),
    ];
    let mut parts = text.split("poll-ctx");
    let mut corrected = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        corrected.push_str("poll-ctx");
        let start = part.find(|letter: char| letter.is_ascii_uppercase()).unwrap_or(part.len());
        let rest = &part[start..];
        let end = rest.find([' ', '"']).unwrap_or(rest.len());
        let word = &rest[..end];
        let word = SHOWN.iter().find(|(shown, _)| *shown == word).map_or(word, |(_, right)| right);
        corrected.push_str(&part[..start]);
        corrected.push_str(word);
        corrected.push_str(&rest[end..]);
    }
    corrected
}
