//! The recorded replies of `tests/data/nl`.

use std::{fs, io, path::Path};

/// The messages of the NLDEV client that the kernel sent in all recordings.
pub(crate) fn messages() -> io::Result<Vec<Vec<u8>>> {
    let mut messages = Vec::new();
    for kernel in ["6.12", "7.3"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nl/fixtures").join(kernel);
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                let text = fs::read_to_string(path)?;
                let datagrams = text.lines().filter_map(|line| line.strip_prefix("< ")).map(unhex);
                messages.extend(datagrams.flat_map(|datagram| split(&datagram)));
            }
        }
    }
    messages.retain(|message| message.get(5).is_some_and(|kind| kind >> 2 == 5));
    Ok(messages)
}

fn unhex(digits: &str) -> Vec<u8> {
    let nibbles: Vec<u32> = digits.trim().chars().filter_map(|digit| digit.to_digit(16)).collect();
    let (pairs, _) = nibbles.as_chunks::<2>();
    pairs.iter().filter_map(|[high, low]| u8::try_from(high << 4 | low).ok()).collect()
}

/// The messages of a datagram.
fn split(mut datagram: &[u8]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    while let Some(len) = datagram.first_chunk().map(|len| u32::from_ne_bytes(*len) as usize) {
        let Some((message, rest)) = datagram.split_at_checked(len) else { break };
        messages.push(message.to_vec());
        datagram = rest.get(len.next_multiple_of(4) - len..).unwrap_or_default();
    }
    messages
}
