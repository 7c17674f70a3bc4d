//! Order of version numbers as Debian has it, for the versions that kernels and packages carry.

use std::cmp::Ordering;

/// Compares two versions: runs of digits by number, everything else by letter, `~` before the end.
pub(crate) fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (text_a, rest_a) = split(a, |byte| !byte.is_ascii_digit());
        let (text_b, rest_b) = split(b, |byte| !byte.is_ascii_digit());
        let (number_a, rest_a) = split(rest_a, u8::is_ascii_digit);
        let (number_b, rest_b) = split(rest_b, u8::is_ascii_digit);
        let order = compare_text(text_a, text_b).then_with(|| number(number_a).cmp(&number(number_b)));
        if order.is_ne() || (rest_a.is_empty() && rest_b.is_empty()) {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

fn split(bytes: &[u8], belongs: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    bytes.split_at(bytes.iter().take_while(|byte| belongs(byte)).count())
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |sum: u64, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

fn compare_text(a: &[u8], b: &[u8]) -> Ordering {
    let weight = |text: &[u8], at: usize| match text.get(at) {
        Some(b'~') => -1,
        None => 0,
        Some(letter) if letter.is_ascii_alphabetic() => i32::from(*letter),
        Some(other) => i32::from(*other) + 256,
    };
    (0..a.len().max(b.len()))
        .map(|at| weight(a, at).cmp(&weight(b, at)))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        assert_eq!(compare("6.12.117+deb13-amd64", "6.12.98+deb13-amd64"), Ordering::Greater);
        assert_eq!(compare("7.10.1-1", "7.9.1-1"), Ordering::Greater);
        assert_eq!(compare("1.2", "1.2"), Ordering::Equal);
    }

    #[test]
    fn a_backport_is_older_than_what_it_was_made_from() {
        assert_eq!(compare("7.3.4-1~bpo13+1", "7.3.4-1"), Ordering::Less);
        assert_eq!(compare("7.3.4-1~bpo13+2", "7.3.4-1~bpo13+1"), Ordering::Greater);
    }
}
