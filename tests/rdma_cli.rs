//! The rdma(8)-compatible commands against what the real tool did: for each recorded case our command, given the
//! datagrams the kernel sent, prints what rdma(8) printed, and sends the changes it sent.
//!
//! Cases are below `tests/data` and below each folder of the colon-separated `RDMA_FIXTURES`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod rdma_support;

use rdma_support::{Case, cases, corrections};

/// Why a case is not held to the recorded output. Everything else is compared byte by byte.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("res_help", "our help is our own text"),
    ("res_frmr_set", "rdma(8) exits with 0 after a word it does not know; we exit with 1"),
    ("cm_ib--plain", "rdma(8) calls port space IB IPoIB"),
    ("cm_addrinfo--plain", "rdma(8) 7.3.0 has no name for two states of 7.x"),
    ("cm_af_ib--plain", "rdma(8) leaves out a CM id with an AF_IB address"),
    ("mon_empty--plain", "an event without its attributes stands for anything: we say RESYNC"),
    ("sys_show_json", "rdma(8) prints text where JSON is asked for; we print JSON"),
];

/// Why a request is not held to the recorded one.
const REQUEST_EXCEPTIONS: &[(&str, &str)] = &[
    ("dev_rename_long", "a name the kernel refuses is not sent"),
    ("link_add_long_name", "a name the kernel refuses is not sent"),
];

fn reason(exceptions: &[(&str, &'static str)], case: &Case) -> Option<&'static str> {
    exceptions.iter().find(|(name, _)| *name == case.stem()).map(|(_, reason)| *reason)
}

#[tokio::test]
async fn recorded_commands_print_what_rdma_printed() {
    let (mut passed, mut excepted, mut corrected, mut failures) = (0, Vec::new(), 0, Vec::new());
    for case in cases() {
        let ours = case.run().await;
        if let Some(reason) = reason(EXCEPTIONS, &case) {
            excepted.push(format!("{}: {reason}", case.name));
            assert_ne!(
                (&ours.stdout, ours.code),
                (&case.stdout, case.code),
                "{} needs no exception",
                case.name
            );
            continue;
        }
        let expected = corrections::expected(&case);
        corrected += usize::from(expected != case.stdout);
        let stdout = corrections::ours(&case, &ours.stdout);
        let mut wrong = Vec::new();
        if stdout != expected || ours.code != case.code {
            wrong.push(format!(
                "rdma(8) printed, exit {:?}:\n{expected}we printed, exit {:?}:\n{stdout}{}",
                case.code, ours.code, ours.stderr
            ));
        }
        wrong.extend(
            case.said
                .iter()
                .filter(|said| reason(REQUEST_EXCEPTIONS, &case).is_none() && !ours.stderr.contains(*said))
                .map(|said| format!("the kernel said {said:?}, we said:\n{}", ours.stderr)),
        );
        // The tool gives up after the first failure; we go on, so requests it never made are all right then.
        if case.code == Some(0) {
            wrong.extend(ours.unexpected.iter().map(|request| format!("rdma(8) did not send {request}")));
        }
        if wrong.is_empty() {
            passed += 1;
        } else {
            failures.push(format!("== {} ({})\n{}", case.name, case.command.join(" "), wrong.join("\n")));
        }
    }
    println!("{passed} cases passed, {corrected} of them with a correction, {} excepted:", excepted.len());
    excepted.iter().for_each(|excepted| println!("  {excepted}"));
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
    assert!(passed > 500, "the cases are there: {passed}");
}

#[tokio::test]
async fn recorded_changes_are_sent_as_rdma_sent_them() {
    let (mut equal, mut excepted, mut failures) = (0, Vec::new(), Vec::new());
    for case in cases() {
        let recorded = case.changes();
        let ours = case.run().await.changes;
        if let Some(reason) = reason(REQUEST_EXCEPTIONS, &case) {
            excepted.push(format!("{}: {reason}", case.name));
            assert_ne!(ours, recorded, "{} needs no exception", case.name);
        } else if ours == recorded {
            equal += recorded.len();
        } else {
            failures.push(format!("== {}\nrdma(8) sent {recorded:02x?}\nwe sent {ours:02x?}", case.name));
        }
    }
    println!("{equal} requests for a change equal, {} excepted: {excepted:#?}", excepted.len());
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
    assert!(equal > 100, "the changes are there: {equal}");
}
