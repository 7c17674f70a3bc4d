//! The same bytes, in the same run, through the attribute parser of github.com/vishvananda/netlink (Go).

use std::{
    io::Write,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use netlink_packet_core::NetlinkPayload;
use rdma_operator::nl::packet::{ATTRIBUTES, NldevAttribute, RdmaMessage, WireType};

const DURATION: Duration = Duration::from_secs(2);

/// Prints what both make of these messages. Without Go the line says that it was skipped, and why.
pub(crate) fn print(corpus: &str, messages: &[Vec<u8>]) {
    let bytes = super::bytes(messages);
    let ours = median(|| super::decode_all(messages));
    let attributes = messages.iter().map(|message| attributes(message)).sum();
    match go(messages, attributes) {
        Ok(theirs) => println!(
            "{corpus}: {:.0} MB/s, vishvananda/netlink {:.0} MB/s: {:.2} times as fast",
            rate(bytes, ours),
            rate(bytes, theirs),
            theirs.as_secs_f64() / ours.as_secs_f64()
        ),
        Err(reason) => {
            println!("{corpus}: {:.0} MB/s, vishvananda/netlink skipped: {reason}", rate(bytes, ours));
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a rate to three digits")]
fn rate(bytes: usize, pass: Duration) -> f64 {
    bytes as f64 / pass.as_secs_f64() / 1e6
}

fn median(mut pass: impl FnMut()) -> Duration {
    let mut times = Vec::new();
    let start = Instant::now();
    while start.elapsed() < DURATION {
        let began = Instant::now();
        pass();
        times.push(began.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2]
}

/// How many attributes a message has, those in nests included.
fn attributes(message: &[u8]) -> usize {
    fn count(list: &[NldevAttribute]) -> usize {
        list.iter().map(|attribute| 1 + attribute.as_nested().map_or(0, count)).sum()
    }
    match super::decode(message).payload {
        NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message)) => count(&message.attributes),
        _ => 0,
    }
}

/// Time of a pass of the Go program, which must come to as many attributes.
fn go(messages: &[Vec<u8>], attributes: usize) -> Result<Duration, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = folder.path().join("benches");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/go");
    run(Command::new("go").args(["build", "-o"]).arg(&program).arg(".").current_dir(source))?;
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(|error| error.to_string())?;
    for message in messages {
        let padding = message.len().next_multiple_of(4) - message.len();
        let written = file.write_all(message).and_then(|()| file.write_all(&[0; 3][..padding]));
        written.map_err(|error| error.to_string())?;
    }
    let nested: Vec<String> = ATTRIBUTES
        .iter()
        .filter(|attribute| attribute.wire_type == WireType::Nested)
        .map(|attribute| attribute.number.to_string())
        .collect();
    let printed = run(Command::new(&program).arg(file.path()).arg(nested.join(",")))?;
    match printed.split_whitespace().collect::<Vec<_>>()[..] {
        [time, count] if count == attributes.to_string() => {
            time.parse().map(Duration::from_nanos).map_err(|error| error.to_string())
        }
        _ => Err(format!("it printed {printed:?}, and not a time and {attributes} attributes")),
    }
}

fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
