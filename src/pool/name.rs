//! Names: from what the kernel calls a device to what Kubernetes accepts, deterministically.
//!
//! The rule, for the part of a resource name behind the slash (`[A-Za-z0-9]`, then `[A-Za-z0-9_.-]`, at most 63,
//! ending in `[A-Za-z0-9]`):
//! 1. a legal name stays as it is;
//! 2. else every other character becomes `-`, what is not alphanumeric goes from both ends, an empty rest becomes
//!    `device`, a long one is cut to 54 characters and gets `-` and 8 hex digits of the original name's FNV-1a hash;
//! 3. legal names are given out first, the others after them in the order of the originals; one that is taken
//!    already gets such a suffix too.

use std::collections::BTreeSet;

/// Longest name part of a qualified name.
const MAX_SEGMENT: usize = 63;
/// `-` and eight digits.
const SUFFIX: usize = 9;

/// Whether `text` can stand behind the slash of a resource name.
#[must_use]
pub fn is_segment(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    bytes.len() <= MAX_SEGMENT
        && ends(bytes.first())
        && ends(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
}

/// Why the kubelet would refuse a resource name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It has no domain.
    #[error("a resource name is <domain>/<name>, with exactly one slash")]
    NoDomain,
    /// The domain is not a DNS subdomain.
    #[error("the part before the slash must be a lower-case DNS name of at most 253 characters")]
    Domain,
    /// The domain belongs to Kubernetes.
    #[error("kubernetes.io and names that start with requests. are reserved")]
    Reserved,
    /// The name part is not legal.
    #[error("the part after the slash must be 1 to 63 of A-Z a-z 0-9 _ . - and start and end alphanumeric")]
    Segment,
}

/// Checks a whole resource name by the kubelet's rules for extended resources.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(resource: &str) -> Result<(), NameError> {
    let (domain, segment) = resource.split_once('/').ok_or(NameError::NoDomain)?;
    if segment.contains('/') {
        return Err(NameError::NoDomain);
    }
    let reserved = ["kubernetes.io", "requests"];
    if reserved.contains(&domain) || domain.ends_with(".kubernetes.io") || domain.starts_with("requests.") {
        return Err(NameError::Reserved);
    }
    let label = |label: &str| {
        let bytes = label.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        (1..=63).contains(&bytes.len())
            && bytes.first().is_some_and(plain)
            && bytes.last().is_some_and(plain)
            && bytes.iter().all(|byte| plain(byte) || *byte == b'-')
    };
    // The kubelet checks it with the quota prefix "requests." in front.
    if domain.len() > 253 - "requests.".len() || !domain.split('.').all(label) {
        return Err(NameError::Domain);
    }
    if is_segment(segment) { Ok(()) } else { Err(NameError::Segment) }
}

/// Gives each of `names` a legal one of its own, in the same order, by the module's rule.
#[must_use]
pub fn segments(names: &[&str]) -> Vec<String> {
    unique(names, is_segment, sanitise, |base, digits| {
        let cut = &base[..base.len().min(MAX_SEGMENT - SUFFIX)];
        format!("{}-{digits}", cut.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()))
    })
}

/// Gives each of `names` an environment variable suffix of its own: upper case, `_` for what is no letter or digit.
#[must_use]
pub fn env_keys(names: &[&str]) -> Vec<String> {
    let legal = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let shape = |name: &str| -> String {
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
    };
    unique(names, legal, shape, |base, digits| format!("{base}_{}", digits.to_ascii_uppercase()))
}

fn sanitise(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' }).collect();
    let trimmed = plain.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    match trimmed.len() {
        0 => "device".to_owned(),
        1..=MAX_SEGMENT => trimmed.to_owned(),
        _ => format!("{}-{}", &trimmed[..MAX_SEGMENT - SUFFIX], digits(name, 0)),
    }
}

/// Hands out names so that each is used once, whatever order `names` come in.
fn unique(
    names: &[&str],
    is_legal: impl Fn(&str) -> bool,
    shape: impl Fn(&str) -> String,
    suffixed: impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|&at| (!is_legal(names[at]), names[at], at));
    let mut taken = BTreeSet::new();
    let mut given = vec![String::new(); names.len()];
    for at in order {
        let base = shape(names[at]);
        let mut name = base.clone();
        let mut attempt = 0;
        while !taken.insert(name.clone()) {
            name = suffixed(&base, &digits(names[at], attempt));
            attempt += 1;
        }
        given[at] = name;
    }
    given
}

fn digits(name: &str, attempt: u32) -> String {
    let mut hash = fnv1a(name.as_bytes());
    if attempt > 0 {
        hash ^= fnv1a(&attempt.to_be_bytes());
    }
    format!("{:08x}", (hash ^ (hash >> 32)) & 0xffff_ffff)
}

/// FNV-1a, 64 bits: written out because names must stay the same over releases of any library.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// A key that sorts `mlx5_2` before `mlx5_10`.
#[must_use]
pub fn natural(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let text_end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(text_end);
        let number_end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (number, tail) = tail.split_at(number_end);
        parts.push((text.to_owned(), number.parse().unwrap_or(u64::MAX)));
        rest = tail;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn b10_legal_names_stay_and_others_become_legal() {
        let long = "x".repeat(63);
        for name in ["mlx5_0", "rocep1s0f0.100", "a-b.c_d", long.as_str()] {
            assert_eq!(segments(&[name]), [name]);
        }
        assert_eq!(segments(&["a!b"]), ["a-b"]);
        assert_eq!(segments(&["-a-"]), ["a"]);
        assert_eq!(segments(&["!!"]), ["device"]);
        assert_eq!(segments(&["é0"]), ["0"]);
    }

    #[test]
    fn b10_names_that_fall_together_get_suffixes() {
        let given = segments(&["a!b", "a-b", "a@b"]);
        assert_eq!(given[1], "a-b", "the legal one keeps its name");
        assert!(
            given[0].starts_with("a-b-") && given[2].starts_with("a-b-") && given[0] != given[2],
            "{given:?}"
        );
        assert_eq!(env_keys(&["a-b", "a.b"])[0], "A_B");
        assert!(env_keys(&["a-b", "a.b"])[1].starts_with("A_B_"));
    }

    #[test]
    fn b11_a_name_that_the_kubelet_would_refuse_is_told_beforehand() {
        for (name, expected) in [
            ("rdma/mlx5_0", Ok(())),
            ("example.com/a.b-c_d", Ok(())),
            ("mlx5_0", Err(NameError::NoDomain)),
            ("a/b/c", Err(NameError::NoDomain)),
            ("/x", Err(NameError::Domain)),
            ("RDMA/x", Err(NameError::Domain)),
            ("rdma./x", Err(NameError::Domain)),
            ("kubernetes.io/x", Err(NameError::Reserved)),
            ("a.kubernetes.io/x", Err(NameError::Reserved)),
            ("requests.rdma/x", Err(NameError::Reserved)),
            ("rdma/", Err(NameError::Segment)),
            ("rdma/-x", Err(NameError::Segment)),
            ("rdma/a!b", Err(NameError::Segment)),
        ] {
            assert_eq!(check(name), expected, "{name}");
        }
    }

    #[test]
    fn numbers_sort_as_numbers() {
        let mut names = ["mlx5_10", "mlx5_2", "bnxt_re0", "mlx5_0", "mlx5"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["bnxt_re0", "mlx5", "mlx5_0", "mlx5_2", "mlx5_10"]);
    }

    proptest! {
        #[test]
        fn every_name_gets_a_legal_one_of_its_own(names in prop::collection::btree_set("[a-b!.@é_-]{0,4}|[a-z!]{60,70}", 0..24)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let given = segments(&names);
            prop_assert!(given.iter().all(|name| is_segment(name)), "{given:?}");
            prop_assert_eq!(given.iter().collect::<BTreeSet<_>>().len(), names.len());
            for (name, given) in names.iter().zip(&given) {
                prop_assert!(!is_segment(name) || name == given);
            }
            let keys = env_keys(&names);
            prop_assert_eq!(keys.iter().collect::<BTreeSet<_>>().len(), names.len());
            let reversed: Vec<&str> = names.iter().rev().copied().collect();
            let again: Vec<String> = segments(&reversed).into_iter().rev().collect();
            prop_assert_eq!(given, again);
        }
    }
}
