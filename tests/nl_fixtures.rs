//! Recorded netlink sessions through the public codec: every datagram below `tests/data/nl/fixtures`, and below each
//! folder of the colon-separated `RDMA_FIXTURES`, decodes and encodes to the same bytes.
#![allow(clippy::panic)]

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use rdma_operator::nl::packet::RdmaMessage;

/// Every `.hex` file of a folder and those below it.
fn recordings(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            recordings(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "hex") {
            found.push(path);
        }
    }
    Ok(())
}

fn unhex(digits: &str) -> Option<Vec<u8>> {
    let nibbles: Option<Vec<u32>> = digits.trim().chars().map(|digit| digit.to_digit(16)).collect();
    let (pairs, rest) = nibbles.as_deref()?.as_chunks::<2>();
    rest.is_empty()
        .then(|| pairs.iter().filter_map(|[high, low]| u8::try_from(high << 4 | low).ok()).collect())
}

/// The datagram after each of its messages went through the codec.
fn through_the_codec(datagram: &[u8]) -> Result<Vec<u8>, String> {
    let mut again = Vec::new();
    let mut rest = datagram;
    while let Some(len) = rest.first_chunk().map(|len| u32::from_ne_bytes(*len) as usize) {
        let message = rest.get(..len).ok_or("a message longer than its datagram")?;
        let decoded =
            NetlinkMessage::<RdmaMessage>::deserialize(message).map_err(|error| error.to_string())?;
        if let NetlinkPayload::InnerMessage(RdmaMessage::Other(other)) = &decoded.payload {
            // Only what is not of the NLDEV client may pass through undecoded.
            if other.message_type >> 10 == 5 {
                return Err(format!("message type {:#x} was not decoded", other.message_type));
            }
        }
        let mut encoded = vec![0; decoded.buffer_len()];
        decoded.serialize(&mut encoded);
        encoded.resize(encoded.len().next_multiple_of(4), 0);
        again.extend(encoded);
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(again)
}

#[test]
fn every_recording_survives() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nl/fixtures")];
    if let Some(more) = std::env::var_os("RDMA_FIXTURES") {
        folders.extend(std::env::split_paths(&more));
    }
    let mut files = Vec::new();
    for folder in &folders {
        recordings(folder, &mut files).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    }
    let mut datagrams = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        for line in text.lines().filter(|line| line.starts_with(['<', '>'])) {
            let datagram = unhex(&line[1..]).unwrap_or_else(|| panic!("{}: {line}", file.display()));
            assert_eq!(through_the_codec(&datagram), Ok(datagram), "{}", file.display());
            datagrams += 1;
        }
    }
    assert!(datagrams > 2000, "only {datagrams} datagrams");
}
