//! Pure: can a driver change a device's network namespace on a kernel, and how sure is that? From a table by
//! kernel series, never by trying: on some kernels the try alone re-creates the device.

use std::fmt;

use serde::Serialize;

/// How a fact is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Confidence {
    /// Read in the source of this kernel series, or measured on it.
    Known,
    /// From a series before and one after, or of a vendor's build.
    Inferred,
    /// Not at all.
    #[default]
    Unknown,
}

impl Confidence {
    /// The word in RdmaNode.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Known => "Known",
            Self::Inferred => "Inferred",
            Self::Unknown => "Unknown",
        }
    }
}

/// A kernel series: 6.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series(pub u32, pub u32);

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The series whose sources the table was read from.
const READ: [Series; 4] = [Series(6, 1), Series(6, 12), Series(7, 2), Series(7, 3)];

/// The first series in which anything can move.
const FIRST: Series = Series(5, 2);

/// Drivers that can move: since when, or since which series of [`READ`] at the latest.
const MOVABLE: [(&str, Series); 9] = [
    ("irdma", Series(6, 1)),
    ("mlx4", FIRST),
    ("mlx5", FIRST),
    ("hns", Series(6, 1)),
    ("mana", Series(6, 12)),
    ("bnxt_re", Series(6, 12)),
    ("erdma", Series(6, 12)),
    ("ionic", Series(7, 3)),
    ("rxe", Series(7, 3)),
];

/// Drivers that cannot, in any series of [`READ`].
const FIXED: [&str; 10] =
    ["i40iw", "siw", "efa", "qedr", "cxgb4", "hfi1", "usnic", "vmw_pvrdma", "ocrdma", "mthca"];

/// Whether a device can change its network namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Movable {
    /// The driver can.
    Yes,
    /// Not on this kernel; from this series on.
    Later(Series),
    /// In no series known.
    Never,
    /// The driver or the kernel is not in the table.
    #[default]
    Unknown,
}

impl Movable {
    /// `Yes`, `Later`, `Never` or `Unknown`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "Yes",
            Self::Later(_) => "Later",
            Self::Never => "Never",
            Self::Unknown => "Unknown",
        }
    }
}

/// The answer for the driver `driver` (`mlx5`, `rxe`, …) on the kernel `release` (`uname -r`).
#[must_use]
pub fn movable(driver: &str, release: &str) -> (Movable, Confidence) {
    let Some(series) = series(release) else { return (Movable::Unknown, Confidence::Unknown) };
    let exact = if READ.contains(&series) { Confidence::Known } else { Confidence::Inferred };
    if FIXED.contains(&driver) {
        // A series newer than the newest read may have learnt it.
        return (Movable::Never, exact);
    }
    match MOVABLE.iter().find(|(name, _)| *name == driver) {
        None => (Movable::Unknown, Confidence::Unknown),
        Some((_, since)) if series >= *since => (Movable::Yes, exact),
        // Nothing before the oldest series was read.
        Some((_, since)) if *since == READ[0] => (Movable::Unknown, Confidence::Unknown),
        Some((_, since)) => (Movable::Later(*since), exact),
    }
}

/// `7.3.4+deb13-amd64` → 7.3
#[must_use]
pub fn series(release: &str) -> Option<Series> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some(Series(numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rxe_differs_between_the_two_kernels_and_siw_does_not() {
        assert_eq!(movable("rxe", "7.3.4+deb13-amd64"), (Movable::Yes, Confidence::Known));
        assert_eq!(movable("rxe", "6.12.117+deb13-amd64"), (Movable::Later(Series(7, 3)), Confidence::Known));
        assert_eq!(movable("siw", "7.3.4"), (Movable::Never, Confidence::Known));
        assert_eq!(movable("siw", "6.12.1"), (Movable::Never, Confidence::Known));
    }

    #[test]
    fn before_the_oldest_series_read_little_is_known() {
        assert_eq!(movable("mlx5", "5.15.0-206"), (Movable::Yes, Confidence::Inferred));
        assert_eq!(movable("mlx5", "5.1.0"), (Movable::Later(FIRST), Confidence::Inferred));
        assert_eq!(movable("irdma", "5.15.0"), (Movable::Unknown, Confidence::Unknown));
        assert_eq!(movable("i40iw", "5.4.0-150"), (Movable::Never, Confidence::Inferred));
    }

    #[test]
    fn series_not_read_are_inferred_and_unknown_drivers_unknown() {
        assert_eq!(movable("mlx5", "6.8.0-1012"), (Movable::Yes, Confidence::Inferred));
        assert_eq!(movable("rxe", "7.4.0"), (Movable::Yes, Confidence::Inferred));
        assert_eq!(movable("nextgen", "7.3.4"), (Movable::Unknown, Confidence::Unknown));
        assert_eq!(movable("mlx5", "garbage"), (Movable::Unknown, Confidence::Unknown));
    }
}
