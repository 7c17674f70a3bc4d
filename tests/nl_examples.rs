//! The examples against the kernel of this machine, as root, with rxe and siw: each is run and says what it should.
//!
//! They are looked for beside this program, as the lab's nodes have them, and where cargo puts them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod nl_support {
    pub(crate) mod fake_hca;
    pub(crate) mod netdev;
}

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use nl_support::fake_hca::FakeHca;
use nl_support::netdev::Netdev;
use rdma_operator::nl::{Handle, LinkKind, new_connection};

const WAIT: Duration = Duration::from_secs(30);

fn example(name: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let places = [folder.join(name), folder.join("../examples").join(name)];
    let found = places.iter().find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is at none of {places:?}: cargo build --examples")).clone()
}

/// Runs an example that has to succeed; the lines it printed.
fn run(name: &str, args: &[&str]) -> Vec<String> {
    let output = Command::new(example(name)).args(args).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{name}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    println!("{stdout}");
    stdout.lines().map(str::to_owned).collect()
}

/// The one line that begins so and ends so.
fn line<'a>(lines: &'a [String], start: &str, end: &str) -> &'a str {
    let mut found = lines.iter().filter(|line| line.starts_with(start) && line.ends_with(end));
    let line = found.next().unwrap_or_else(|| panic!("no line {start:?} … {end:?} in {lines:#?}"));
    assert_eq!(found.next(), None, "{start:?} … {end:?} twice in {lines:#?}");
    line
}

fn connect() -> Handle {
    let (connection, handle, _events) = new_connection().unwrap();
    connection.spawn_on_thread().unwrap();
    handle.with_timeout(WAIT)
}

async fn index(handle: &Handle, name: &str) -> Option<u32> {
    let devices = handle.device().list().await.unwrap();
    devices.iter().find(|device| device.name == name).map(|device| device.index)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn devices_are_shown_and_dumped() {
    let handle = connect();
    let _netdev = Netdev::new("nle0");
    handle.link().add("nle_rxe", &LinkKind::Rxe, "nle0").await.unwrap();
    let index = index(&handle, "nle_rxe").await.unwrap();

    let shown = run("show_devices", &[]);
    let at =
        shown.iter().position(|line| line.starts_with(&format!("{index}: nle_rxe ca, roce, node GUID ")));
    let at = at.unwrap_or_else(|| panic!("{shown:#?}"));
    assert_eq!(shown[at + 1], "   port 1: ACTIVE, LINK_UP, on nle0");

    let dumped = run("dump_devices", &[]);
    let mut ours = dumped.iter().skip_while(|line| *line != "nle_rxe").skip(1);
    let ours: Vec<String> = ours.by_ref().take_while(|line| line.starts_with("   ")).cloned().collect();
    line(&ours, "   qp 1 GSI RTS of kernel module ", "");
    assert!(ours.iter().any(|line| line.starts_with("   pd ")), "{ours:#?}");
    assert!(ours.iter().any(|line| line.starts_with("   cq ") && line.ends_with(" entries")), "{ours:#?}");
    handle.link().del(index).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn soft_devices_are_made_inspected_and_removed_and_hardware_is_not() {
    let handle = connect();
    let _netdev = Netdev::new("nle0");
    let hca = FakeHca::load();
    let lines = run("create_soft_devices", &["nle0"]);
    for kind in ["rxe", "siw"] {
        let start = format!("{kind}: made example_{kind} on nle0, index ");
        line(&lines, &start, "");
        let at = lines.iter().position(|line| line.starts_with(&start)).unwrap();
        assert_eq!(lines[at + 1], "   port 1 is ACTIVE", "{lines:#?}");
        assert!(lines[at + 2].starts_with("   /dev/infiniband/uverbs"), "{lines:#?}");
        assert!(lines[at + 3].contains("   pd ") && lines[at + 3].contains("   ctx 0"), "{lines:#?}");
        assert_eq!(lines[at + 4], "   removed", "{lines:#?}");
        assert_eq!(index(&handle, &format!("example_{kind}")).await, None);
    }
    match hca {
        Some(_module) => {
            line(&lines, "fake0 (", ") is hardware: removing it is refused with EINVAL");
            assert!(index(&handle, "fake0").await.is_some(), "it is still there");
        }
        None => println!("no refusal: this machine has no fakehca module"),
    }
}

/// A program whose lines are read as they come; it is ended with this.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(name: &str) -> Self {
        let mut child = Command::new(example(name)).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    /// The next line that ends so.
    fn line(&self, end: &str) -> String {
        let until = Instant::now() + WAIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line.ends_with(end) => return line,
                Ok(line) => println!("{line}"),
                Err(error) => panic!("no line … {end:?}: {error}"),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a kernel with RDMA: cargo xtask test"]
async fn monitor_prints_what_happens() {
    let handle = connect();
    let _netdev = Netdev::new("nle0");
    let monitor = Running::start("monitor");
    monitor.line("rename a device");
    handle.link().add("nle_siw", &LinkKind::Siw, "nle0").await.unwrap();
    let index = index(&handle, "nle_siw").await.unwrap();
    assert_eq!(monitor.line(": nle_siw registered"), format!("{index}: nle_siw registered"));
    assert_eq!(monitor.line("nle_siw/1 got nle0"), format!("{index}: nle_siw/1 got nle0"));
    handle.link().del(index).await.unwrap();
    assert_eq!(monitor.line(": nle_siw unregistered"), format!("{index}: nle_siw unregistered"));
}
