//! The rdma(8)-compatible commands against what the real tool did: for each recorded case our command, given the
//! datagrams the kernel sent, prints what rdma(8) printed, and sends the changes it sent.
//!
//! Cases are below `tests/data` and below each folder of the colon-separated `RDMA_FIXTURES`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod rdma_support;

use std::fs;
use std::path::Path;

use rdma_support::{Case, cases, corrections};

/// Why a case is not held to the recorded output. Everything else is compared byte by byte.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("res_help", "our help is our own text"),
    ("res_frmr_set", "rdma(8) exits with 0 after a word it does not know; we exit with 1"),
    ("cm_ib--plain", "rdma(8) calls port space IB IPoIB"),
    ("cm_addrinfo--plain", "rdma(8) 7.3.0 has no name for two states of 7.x"),
    ("cm_af_ib--plain", "rdma(8) leaves out a CM id with an AF_IB address"),
    (
        "mon_notype--plain",
        "rdma(8) leaves out an event without a type; it stands for anything: we say RESYNC",
    ),
    ("mon_notype--json", "rdma(8) leaves out an event without a type; it stands for anything: we say RESYNC"),
    ("sys_show_json", "rdma(8) prints text where JSON is asked for; we print JSON"),
    ("qp_noid--plain", "rdma(8) gives up at a QP without its number; we say so and go on with the rest"),
    ("ctx_noid--json", "rdma(8) gives up at a context without its number; we say so and go on with the rest"),
    ("srq_noid--plain", "rdma(8) gives up at an SRQ without its number; we say so and go on with the rest"),
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

/// One object that lacks what it must have does not spoil the list: the rest is printed, the fault said, and the status
/// is that of a failure.
#[tokio::test]
async fn an_object_without_its_id_does_not_hide_the_others() {
    let qp =
        |n: u32| format!("link mlx5_0/1 lqpn {n} type RC state RTS sq-psn 5 pdn 1 pid 41 comm proc41 \n");
    let case = cases().into_iter().find(|case| case.name == "made/qp_noid--plain").unwrap();
    let ours = case.run().await;
    assert_eq!(ours.stdout, [7, 9, 10].map(qp).concat());
    let said = "listing qp of mlx5_0: RES_QP_GET list of device 0 port 1 was answered without RDMA_NLDEV_ATTR_RES_LQPN";
    assert_eq!((ours.stderr, ours.code), (format!("rdma-operator: {said}\n"), Some(1)));
}

fn gid_table(sysfs: &Path, device: &str, gids: &[(&str, &str, &str)]) {
    let port = sysfs.join("class/infiniband").join(device).join("ports/1");
    for folder in ["gids", "gid_attrs/types", "gid_attrs/ndevs"] {
        fs::create_dir_all(port.join(folder)).unwrap();
    }
    for (index, (gid, kind, netdev)) in gids.iter().enumerate() {
        fs::write(port.join(format!("gids/{index}")), format!("{gid}\n")).unwrap();
        fs::write(port.join(format!("gid_attrs/types/{index}")), format!("{kind}\n")).unwrap();
        fs::write(port.join(format!("gid_attrs/ndevs/{index}")), format!("{netdev}\n")).unwrap();
    }
}

#[tokio::test]
async fn gids_are_shown_and_the_best_one_found() {
    let sysfs = tempfile::tempdir().unwrap();
    let (link, v4) = ("fe80:0000:0000:0000:5054:00ff:fe12:3456", "0000:0000:0000:0000:0000:ffff:0a00:020f");
    let zero = "0000:0000:0000:0000:0000:0000:0000:0000";
    let gids = [
        (link, "IB/RoCE v1", "eth0"),
        (link, "RoCE v2", "eth0"),
        (zero, "", ""),
        (v4, "RoCE v2", "eth0"),
        (v4, "RoCE v2", "eth0.5"),
    ];
    gid_table(sysfs.path(), "rxe0", &gids);
    let case = cases().into_iter().find(|case| case.name == "7.3/link_show").unwrap();
    let run = async |command: &str| {
        let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
        let outcome = case.run_as(&words, sysfs.path()).await;
        (outcome.stdout, outcome.stderr)
    };
    let line = |index, gid, kind, scope, netdev| {
        format!("link rxe0/1 index {index} gid {gid} type {kind} scope {scope} netdev {netdev} \n")
    };
    let table = [
        line(0, "fe80::5054:ff:fe12:3456", "IB/RoCE v1", "link", "eth0"),
        line(1, "fe80::5054:ff:fe12:3456", "RoCE v2", "link", "eth0"),
        line(3, "::ffff:10.0.2.15", "RoCE v2", "global", "eth0"),
        line(4, "::ffff:10.0.2.15", "RoCE v2", "global", "eth0.5"),
    ];
    assert_eq!(run("gid").await, (table.concat(), String::new()));
    assert_eq!(run("gid show rxe0/1").await.0, table.concat());
    assert_eq!(run("gid show siw0").await, (String::new(), String::new()));
    assert_eq!(run("gid best dev rxe0").await.0, table[2]);
    assert_eq!(run("gid best netdev eth0.5").await.0, table[3]);
    let json = r#"[{"ifindex":0,"ifname":"rxe0","port":1,"index":3,"gid":"::ffff:10.0.2.15","type":"RoCE v2","scope":"global","netdev":"eth0"}
]
"#;
    assert_eq!(run("-j gid best link rxe0/1").await.0, json);
    let (stdout, stderr) = run("gid best netdev eth7").await;
    assert_eq!(stdout, "");
    assert_eq!(
        stderr,
        "rdma-operator: there is no network device eth7 in this network namespace, and no GID of it\n"
    );
}

#[tokio::test]
async fn what_is_wrong_is_said_in_one_line() {
    let case = cases().into_iter().find(|case| case.name == "7.3/link_show").unwrap();
    for (command, said) in [
        (
            "foo",
            "rdma: \"foo\" is not known here; one of: dev, link, resource, system, statistic, monitor, gid",
        ),
        ("dev foo", "dev: \"foo\" is not known here; one of: show, list, add, delete, set"),
        ("dev show nope", "there is no RDMA device \"nope\" here"),
        ("dev show rxe0 siw0", "dev show: \"siw0\" is too much"),
        ("dev set rxe0", "dev set: what? one of: name, netns, adaptive-moderation"),
        (
            "dev set rxe0 adaptive-moderation x",
            "dev set adaptive-moderation: on or off is wanted here, not \"x\"",
        ),
        ("dev add x type foo parent rxe0", "dev add: \"foo\" is no kind of sub-device; the only one is smi"),
        (
            "dev set rxe0 netns nsX",
            "moving rxe0 to the network namespace nsX: No such file or directory (os error 2)",
        ),
        ("link show rxe0/9", "rxe0 has no port 9: its ports are 1 to 1"),
        ("link show rxe0/x", "\"rxe0/x\" is no DEV/PORT: \"x\" is no port number"),
        ("link add x netdev eth0", "link add: \"type\" is wanted here, not \"netdev\""),
        ("link add x type rxe", "link add: \"netdev\" is missing"),
        ("link -x", "\"-x\" is no option here; options are -j -p -d -r -o"),
        ("link --x", "\"--x\" is no option here; options are -j -p -d -r -o"),
        ("link del help", "there is no RDMA device \"help\" here"),
        (
            "res show qp display type",
            "resource show qp: \"display\" is no filter; one of: lqpn, rqpn, pid, sq-psn, rq-psn, type, path-mig-state, state, pdn",
        ),
        ("res show qp lqpn", "resource show qp: the value of lqpn is missing"),
        (
            "res set frmr_pools dev rxe0 pinned 1:2 3",
            "\"1:2\" is no key of a pool: VENDOR:BLOCKS:ACCESS:ATS, hexadecimal",
        ),
        (
            "stat qp set link rxe0/1 auto foo on",
            "statistic qp set: \"foo\" is no criterion; one of: type, pid",
        ),
        (
            "stat qp bind link rxe0/1 lqpn 1,2",
            "statistic qp bind: a QP number \"1,2\": invalid digit found in string",
        ),
        ("sys set netns x", "system set netns: shared or exclusive is wanted here, not \"x\""),
        ("sys set monitor on", "system set monitor: the kernel decides on this"),
        ("monitor x", "monitor: \"x\" is too much"),
    ] {
        let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
        let outcome = case.run_as(&words, Path::new("/nonexistent")).await;
        assert_eq!(outcome.stderr, format!("rdma-operator: {said}\n"), "{command}");
        assert_eq!((outcome.stdout.as_str(), outcome.code), ("", Some(1)), "{command}");
        assert!(outcome.changes.is_empty(), "{command}");
    }
}

/// Help where rdma(8) gives it, and options as getopt_long(3) takes them.
#[tokio::test]
async fn help_and_options_are_found_where_rdma_finds_them() {
    let case = cases().into_iter().find(|case| case.name == "7.3/link_show").unwrap();
    let run = async |command: &str| {
        let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
        let outcome = case.run_as(&words, Path::new("/nonexistent")).await;
        assert_eq!(outcome.stderr, "", "{command}");
        outcome.stdout
    };
    for (command, object) in [
        ("help", "OBJECT"),
        ("h", "OBJECT"),
        ("-h", "OBJECT"),
        ("link h", "link"),
        ("link --hel", "link"),
        ("link add help", "link"),
        ("dev add help", "dev"),
        ("res help", "resource"),
        ("stat set help", "statistic"),
        ("stat mode help", "statistic"),
        ("stat mode supported help", "statistic"),
        ("stat qp help", "statistic"),
        ("stat qp bind help", "statistic"),
        ("stat qp show help", "statistic"),
        ("sys set help", "system"),
        ("mon help", "monitor"),
    ] {
        let usage = run(command).await;
        assert!(usage.starts_with(&format!("Usage: rdma-operator [OPTIONS] {object}")), "{command}: {usage}");
    }
    let line = "link rxe0/1 state ACTIVE physical_state LINK_UP netdev eth0 ";
    let details = format!("{line}netdev_index 2 \n");
    for command in
        ["--det link show rxe0/1", "link show rxe0/1 -d", "-f link show rxe0/1 --d", "l l rxe0/1 -dd"]
    {
        assert_eq!(run(command).await, details, "{command}");
    }
    assert!(run("link show rxe0/1 --js").await.starts_with("[{\"ifindex\":0"));
    assert!(run("link -V").await.starts_with("rdma-operator "));
}

/// The options before the command and among its words, the help, and beginnings of commands, by the real binary.
#[test]
fn the_binary_takes_options_where_rdma_does() {
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rdma-operator"));
        let output = command.args(args).env_clear().output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for args in [&["res", "help"][..], &["resource", "-h"], &["--js", "resource", "help"]] {
        let (code, stdout, stderr) = run(args);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{args:?}");
        assert!(stdout.starts_with("Usage: rdma-operator [OPTIONS] resource"), "{args:?}: {stdout}");
    }
    // Of two names with the same beginning the one that rdma(8) has first.
    assert!(run(&["s", "help"]).1.starts_with("Usage: rdma-operator [OPTIONS] system"));
    for args in [&["-j", "link", "foo"][..], &["link", "-jp", "foo"], &["-dd", "-o", "lin", "foo", "-d"]] {
        let (code, stdout, stderr) = run(args);
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{args:?}");
        assert_eq!(
            stderr,
            "rdma-operator: link: \"foo\" is not known here; one of: show, list, add, delete\n"
        );
    }
}
