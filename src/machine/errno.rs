//! Names of error numbers, as machine documents write them.

/// What a read of a sysfs file can fail with (`asm-generic/errno*.h`).
const NAMES: [(&str, i32); 37] = [
    ("EPERM", 1),
    ("ENOENT", 2),
    ("EINTR", 4),
    ("EIO", 5),
    ("ENXIO", 6),
    ("E2BIG", 7),
    ("EBADF", 9),
    ("EAGAIN", 11),
    ("ENOMEM", 12),
    ("EACCES", 13),
    ("EFAULT", 14),
    ("EBUSY", 16),
    ("EEXIST", 17),
    ("EXDEV", 18),
    ("ENODEV", 19),
    ("ENOTDIR", 20),
    ("EISDIR", 21),
    ("EINVAL", 22),
    ("ENFILE", 23),
    ("EMFILE", 24),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("EPIPE", 32),
    ("ERANGE", 34),
    ("ENOSYS", 38),
    ("ELOOP", 40),
    ("ENODATA", 61),
    ("ETIME", 62),
    ("EPROTO", 71),
    ("EBADMSG", 74),
    ("EOVERFLOW", 75),
    ("EOPNOTSUPP", 95),
    ("ENETDOWN", 100),
    ("ETIMEDOUT", 110),
    ("EREMOTEIO", 121),
    ("ECANCELED", 125),
];

/// The number of `name`: `EINVAL` → 22.
#[must_use]
pub fn number(name: &str) -> Option<i32> {
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number)
}

/// The name of `number`: 22 → `EINVAL`.
#[must_use]
pub fn name(number: i32) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == number).map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_those_of_this_system() {
        for (text, value) in NAMES {
            assert_eq!(number(text), Some(value));
            assert_eq!(name(value), Some(text));
            let said = std::io::Error::from_raw_os_error(value).to_string();
            assert!(!said.contains("Unknown error"), "{text}: {said}");
        }
        assert_eq!((number("EWHAT"), name(0)), (None, None));
    }
}
