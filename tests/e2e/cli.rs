//! Our rdma(8) commands beside the newest rdma(8) itself, on live rxe, siw and fakehca devices of both kernels: the
//! same words to both, and equal output and exit status.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::lab::NODES;
use crate::poll_context::poll_context;

const RDMA: &str = "/opt/iproute2-new/usr/bin/rdma";
/// Our binary in a node: not in the shared folder, from which each start would read it again.
const OURS: &str = "/tmp/rdma-operator";

/// Ways to ask for each command.
const OPTIONS: [&str; 6] = ["", "-d", "-dd", "-j", "-d -jp", "-o"];

/// With rxe and fakehca. rdma(8) gives up at a device without counters, as siw is one: these come before it.
const COUNTERS: [&str; 13] = [
    "statistic",
    "statistic show",
    "statistic show link cli_rxe/1",
    "statistic show link cli_rxe",
    "statistic show link fake0/1",
    "statistic show link fake0",
    "statistic mode",
    "statistic mode supported",
    "statistic mode link fake0/1",
    "statistic mode supported link fake0/2",
    "statistic qp mode",
    "statistic qp show",
    "statistic show mr",
];

/// With all devices, and processes that hold some of each resource.
const OBJECTS: [&str; 36] = [
    "dev",
    "dev show cli_rxe",
    "dev show cli_siw",
    "dev show fake0",
    "dev show cli_smi",
    "dev show nosuch",
    "link",
    "link show cli_rxe",
    "link show cli_rxe/1",
    "link show cli_siw/1",
    "link show cli_rxe/2",
    "link show fake0/1",
    "link show fake0/2",
    "link show nosuch/1",
    "system",
    "system show netns",
    "system show privileged-qkey",
    "resource",
    "resource show cli_rxe",
    "resource show fake0",
    "resource show nosuch",
    "resource show qp",
    "resource show qp link cli_rxe",
    "resource show qp link cli_rxe/1 lqpn 1",
    "resource show qp link cli_rxe state INIT",
    "resource show qp link cli_siw",
    "resource show cq",
    "resource show mr",
    "resource show pd",
    "resource show ctx",
    "resource show srq",
    "resource show cm_id",
    "resource show cm_id link cli_siw",
    "resource show frmr_pools",
    "-b /tmp/cli.commands",
    "-f -b /tmp/cli.commands",
];

/// Commands whose answers differ with these options, and why that is right. That they differ is checked too.
const EXCEPTIONS: &[(&str, &[&str], &str)] = &[
    ("link show cli_rxe", &OPTIONS, "rdma(8) wants a port here; we show all of the device"),
    ("resource show nosuch", &OPTIONS, "rdma(8) exits with 0 after a word it does not know; we exit with 1"),
    ("statistic show mr", &["-o"], "rdma(8) prints a backslash for the end of each line here, the last too"),
    ("system", &TEXT_ONLY, SYSTEM),
    ("system show netns", &TEXT_ONLY, SYSTEM),
    ("system show privileged-qkey", &TEXT_ONLY, SYSTEM),
];
const TEXT_ONLY: [&str; 3] = ["-j", "-d -jp", "-o"];
const SYSTEM: &str =
    "rdma(8) prints text where JSON is asked for, and a backslash for the end of the only line";

/// What the devices are made by, both tools taking turns.
const MAKE: &str = "
for number in 0 1; do
    ip link add cli$number type dummy && ip addr add 203.0.113.$((number + 1))/32 dev cli$number
    ip link set cli$number up
done
$ours link add cli_rxe type rxe netdev cli0 || exit 1
if modprobe fakehca devices=1 ports=2 ib=1; then
    $rdma dev add cli_smi type SMI parent fake0 || exit 1
    $ours statistic set link fake0/1 optional-counters fake_optional_marks || exit 1
    $rdma statistic set link fake0/2 optional-counters fake_optional_drops,fake_optional_marks || exit 1
fi
until rdma link show cli_rxe/1 | grep -q 'state ACTIVE.*netdev cli0'; do sleep 0.2; done
ibv_rc_pingpong -d cli_rxe -g 1 > /dev/null 2>&1 & held=$!
ibv_srq_pingpong -d cli_rxe -g 1 -q 2 -p 18516 > /dev/null 2>&1 & held=\"$held $!\"
rping -s -a 203.0.113.1 > /dev/null 2>&1 & held=\"$held $!\"
until [ \"$($rdma resource show qp link cli_rxe state INIT | wc -l)\" -ge 3 ]; do sleep 0.2; done
";

const MAKE_SIW: &str = "
$rdma link add cli_siw type siw netdev cli1 || exit 1
rping -s -a 203.0.113.2 > /dev/null 2>&1 & held=\"$held $!\"
until rdma link show cli_siw/1 | grep -q 'state ACTIVE.*netdev cli1'; do sleep 0.2; done
sleep 1
";

/// Runs whatever became of the rest.
const REMOVE: &str = "
[ -z \"$held\" ] || { kill $held; wait $held; } 2> /dev/null
for link in cli_rxe cli_siw; do ! rdma dev show $link > /dev/null 2>&1 || $ours link delete $link; done
$ours dev delete cli_smi 2> /dev/null
ip link del cli0; ip link del cli1
modprobe -qr fakehca
";

/// Says what a command answered, with its exit status and the lengths of what it printed.
const BEGIN: &str = "
cp /host/rdma-operator $ours || exit 1
export LC_ALL=C
printf '%s\\n' '# one that fails is between them' '' 'dev show cli_rxe' 'link show \\' '  cli_siw/1 # its port' \
    'dev show nosuch' 'resource show qp link cli_rxe/1 lqpn 1' > /tmp/cli.commands
one() {
    \"$@\" > /tmp/cli.out 2> /tmp/cli.err
    local code=$? out err
    IFS= read -rd '' out < /tmp/cli.out
    IFS= read -rd '' err < /tmp/cli.err
    printf '@@@ %s %s %s\\n%s%s' $code ${#out} ${#err} \"$out\" \"$err\"
}
both() { one $rdma \"$@\"; one $ours \"$@\"; }
";

/// What a tool did.
#[derive(PartialEq, Eq)]
struct Answer {
    code: String,
    out: String,
    err: String,
}

/// The command lines, in the order in which a node runs them: those without siw, and all others.
fn commands(hca: bool) -> [Vec<(&'static str, &'static str)>; 2] {
    [&COUNTERS[..], &OBJECTS[..]].map(|list| {
        let asked =
            list.iter().filter(|command| hca || !["fake0", "cli_smi"].iter().any(|n| command.contains(n)));
        asked.flat_map(|command| OPTIONS.map(|options| (options, *command))).collect()
    })
}

/// Runs a program of the lab on a node; its standard output.
fn on_node(node: &str, script: &str) -> String {
    let bin = PathBuf::from(
        std::env::var_os("RDMA_LAB_BIN").expect("RDMA_LAB_BIN: run this by `cargo xtask test`"),
    );
    let output = Command::new(bin.join("node")).args([node, script]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{node}: {err}\n{}", out.lines().last().unwrap_or_default());
    out.into_owned()
}

fn script(commands: &[Vec<(&str, &str)>; 2]) -> String {
    let mut script = format!("rdma={RDMA} ours={OURS} held=\ntrap '{REMOVE}' EXIT\n{BEGIN}{MAKE}");
    let both = |script: &mut String, list: &[(&str, &str)]| {
        list.iter().for_each(|(options, command)| writeln!(script, "both {options} {command}").unwrap());
    };
    both(&mut script, &commands[0]);
    script.push_str(MAKE_SIW);
    both(&mut script, &commands[1]);
    script.push_str("exit 0\n");
    script
}

/// The answers in what a node printed.
fn answers(mut said: &str) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some((head, rest)) = said.strip_prefix("@@@ ").and_then(|rest| rest.split_once('\n')) {
        let mut numbers = head.split(' ');
        let code = numbers.next().unwrap().to_owned();
        let mut length = || numbers.next().unwrap().parse::<usize>().unwrap();
        let (out, rest) = rest.split_at(length());
        let (err, rest) = rest.split_at(length());
        answers.push(Answer { code, out: out.to_owned(), err: err.to_owned() });
        said = rest;
    }
    answers
}

/// Whether the answers are the same, but for what rdma(8) is known to get wrong.
fn same(theirs: &Answer, ours: &Answer) -> bool {
    poll_context(&theirs.out) == ours.out && theirs.code == ours.code
}

/// Compares both tools on a node; what is wrong.
fn compare(node: &str) -> String {
    let path =
        |name: &str| PathBuf::from(std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
    let hca = on_node(node, "modinfo fakehca > /dev/null 2>&1 && echo yes || echo no") == "yes\n";
    if !hca {
        println!("{node}: without fakehca, its kernel has no such module");
    }
    let shared = path("RDMA_LAB").join("nodes").join(node).join("host");
    fs::copy(path("RDMA_OPERATOR_BINARY"), shared.join("rdma-operator")).unwrap();
    let commands = commands(hca);
    fs::write(shared.join("cli.sh"), script(&commands)).unwrap();
    let said = on_node(node, "bash /host/cli.sh");
    assert_eq!(on_node(node, "rdma dev; ip -br link show type dummy"), "", "something is left on {node}");

    let (answers, commands) = (answers(&said), commands.concat());
    assert_eq!(answers.len(), 2 * commands.len(), "{node}");
    let (mut equal, mut excepted, mut shown, mut failures) = (0, 0, 0, String::new());
    for ((options, command), pair) in commands.iter().zip(answers.chunks(2)) {
        let [theirs, ours] = pair else { unreachable!() };
        let reason = EXCEPTIONS.iter().find(|(name, with, _)| name == command && with.contains(options));
        match (same(theirs, ours), reason) {
            (true, None) => equal += 1,
            (false, Some(_)) => excepted += 1,
            (true, Some((_, _, reason))) => {
                writeln!(failures, "== {node}: {options} {command}: needs no exception: {reason}").unwrap();
            }
            (false, None) => writeln!(
                failures,
                "== {node}: {options} {command}\nrdma(8), exit {}:\n{}{}we, exit {}:\n{}{}",
                theirs.code, theirs.out, theirs.err, ours.code, ours.out, ours.err
            )
            .unwrap(),
        }
        shown += usize::from(!ours.out.trim_matches(['[', ']', '\n', ' ']).is_empty());
    }
    println!("{node}: {equal} commands with equal answers, {excepted} excepted; {shown} show something");
    assert!(shown > commands.len() / 2, "{node}: the devices are there");
    failures
}

#[test]
#[ignore = "needs the lab: cargo xtask test"]
fn rdma_and_we_say_the_same_of_live_devices() {
    let failures = std::thread::scope(|scope| {
        let runs = NODES.map(|node| scope.spawn(move || compare(node)));
        runs.map(|run| run.join().expect("a node's comparison")).concat()
    });
    EXCEPTIONS.iter().for_each(|(command, options, why)| println!("  {command} ({options:?}): {why}"));
    assert!(failures.is_empty(), "{failures}");
}
