//! Requests and answers recorded on real kernels, asked of the simulated one.

use std::path::Path;

use super::tests::machine;
use super::*;
use crate::machine::document::Netdev;

/// In the order in which they were recorded: a later one sees what an earlier one has set.
const CASES: [&str; 13] = [
    "res_idle",
    "res_idle_new",
    "res_qp_idle",
    "res_cq_idle",
    "res_frmr",
    "stat_show_siw",
    "stat_show_link",
    "stat_qp_show",
    "stat_qp_mode",
    "stat_qp_mode_link",
    "stat_qp_auto",
    "stat_qp_auto_opt",
    "stat_qp_bind",
];
/// Recorded on a machine without RDMA devices.
const WITHOUT_DEVICES: [&str; 9] = [
    "sys_show",
    "sys_show_new",
    "link_show_empty",
    "raw_sys_get",
    "raw_dev_get_bad_index",
    "raw_dev_get_no_index",
    "raw_dellink_missing",
    "raw_newlink_noattrs",
    "raw_unknown_op",
];

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|place| u8::from_str_radix(&hex[2 * place..2 * place + 2], 16).unwrap()).collect()
}

/// The messages of datagrams, without sequence and port numbers, which differ.
fn messages(datagrams: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for mut rest in datagrams.iter().map(Vec::as_slice) {
        while !rest.is_empty() {
            let length = usize::try_from(u32::from_ne_bytes(rest[..4].try_into().unwrap())).unwrap();
            let mut message = rest[..length].to_vec();
            message[8..16].fill(0);
            // NLMSG_ERROR repeats the header of the request.
            if message[4..6] == [2, 0] {
                message[28..36].fill(0);
                // What follows may be the request, and where the attribute is and what its policy is.
                message.truncate(36);
                message[..4].fill(0);
                message[6..8].fill(0);
            }
            messages.push(message);
            rest = &rest[length.next_multiple_of(4).min(rest.len())..];
        }
    }
    messages
}

/// The machine of the recordings, which had rxe0, rxe1 and siw0 later.
fn host(release: &str, has_devices: bool) -> Simulator {
    let mut machine = machine("soft-roce-node");
    let netdev = machine.netdevs[0].clone();
    machine.devices.clear();
    machine.resources.clear();
    machine.kernel.release = release.to_owned();
    machine.kernel.privileged_qkey = Some(false);
    machine.kernel.monitor = Some(true);
    let host = Simulator::new(machine);
    let devices = [(91, "rxe0", "rxe", 0x10), (92, "rxe1", "rxe", 0x11), (93, "siw0", "siw", 0x20)];
    for (index, device, kind, mac) in devices.into_iter().filter(|_| has_devices) {
        let (name, mac) = (format!("t{index}"), Some(format!("02:00:00:00:00:{mac:02x}")));
        host.set_netdev(Netdev { index, name: name.clone(), mac, ..netdev.clone() });
        host.make_link(device, kind, &name).unwrap();
    }
    host
}

/// Asks what was asked; how many requests that were.
fn ask(host: &Simulator, series: &str, case: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/nl/fixtures");
    let text = std::fs::read_to_string(folder.join(series).join(format!("{case}.hex"))).unwrap();
    let mut lines = text.lines().peekable();
    let mut asked = 0;
    while let Some(line) = lines.next() {
        let Some(request) = line.strip_prefix("> ") else { panic!("{case}: {line}") };
        let mut recorded = Vec::new();
        while let Some(answer) = lines.peek().and_then(|line| line.strip_prefix("< ")) {
            recorded.push(bytes(answer));
            lines.next();
        }
        let answer = host.exchange(&bytes(request)).unwrap();
        assert_eq!(messages(&answer), messages(&recorded), "{series} {case}: {request}");
        asked += 1;
    }
    asked
}

#[tokio::test]
async fn answers_are_those_of_real_kernels() {
    for (series, release) in [("6.12", "6.12.117+deb13-amd64"), ("7.3", "7.3.4+deb13-amd64")] {
        let (full, empty) = (host(release, true), host(release, false));
        let asked: usize = CASES.iter().map(|case| ask(&full, series, case)).sum();
        let without: usize = WITHOUT_DEVICES.iter().map(|case| ask(&empty, series, case)).sum();
        assert!(asked > 30 && without >= WITHOUT_DEVICES.len(), "{asked} {without}");
    }
}
