//! The recorded cases of tests/data/nl/fixtures: the datagrams of rdma(8) and what it printed.

use std::{fs, path::PathBuf};

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_proto::NetlinkMessageCodec;
use tokio_util::bytes::BytesMut;

use crate::nl::{
    RdmaCodec,
    packet::{NldevMessage, RdmaMessage},
};

pub(in crate::nl) const KERNELS: [&str; 2] = ["6.12", "7.3"];

/// One recorded case.
pub(in crate::nl) struct Case {
    pub(in crate::nl) name: String,
    /// Datagrams in order: sent or not, bytes.
    pub(in crate::nl) datagrams: Vec<(bool, Vec<u8>)>,
    /// What the tool printed, without the command line and the exit status; empty when not recorded.
    pub(in crate::nl) text: String,
}

fn folder(kernel: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/nl/fixtures").join(kernel)
}

pub(in crate::nl) fn unhex(text: &str) -> Vec<u8> {
    assert_eq!(text.len() % 2, 0, "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

pub(in crate::nl) fn case(kernel: &str, name: &str) -> Case {
    let hex = fs::read_to_string(folder(kernel).join(format!("{name}.hex"))).unwrap();
    let datagrams = hex
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| (line.starts_with("> "), unhex(line[2..].trim())))
        .collect();
    let text = fs::read_to_string(folder(kernel).join(format!("{name}.txt"))).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    let text = match lines.as_slice() {
        [command, middle @ .., last] if command.starts_with("$ ") && last.starts_with("rc=") => {
            middle.join("\n")
        }
        other => other.join("\n"),
    };
    Case { name: format!("{kernel}/{name}"), datagrams, text }
}

/// Every recorded case of both kernels.
pub(in crate::nl) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for kernel in KERNELS {
        for entry in fs::read_dir(folder(kernel)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "hex") {
                cases.push(case(kernel, path.file_stem().unwrap().to_str().unwrap()));
            }
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

/// The messages of a datagram, as the connection reads them.
pub(in crate::nl) fn messages(datagram: &[u8]) -> Vec<NetlinkMessage<RdmaMessage>> {
    let mut bytes = BytesMut::from(datagram);
    std::iter::from_fn(|| RdmaCodec::decode(&mut bytes).unwrap()).collect()
}

impl Case {
    /// The NLDEV messages the kernel sent in answer to requests with these flags.
    pub(in crate::nl) fn replies(&self, wanted: impl Fn(u16, u16) -> bool) -> Vec<NldevMessage> {
        let mut replies = Vec::new();
        let mut taken = false;
        for (sent, datagram) in &self.datagrams {
            for message in messages(datagram) {
                if *sent {
                    taken = wanted(message.header.message_type, message.header.flags);
                } else if let (true, NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message))) =
                    (taken, message.payload)
                {
                    replies.push(message);
                }
            }
        }
        replies
    }
}
