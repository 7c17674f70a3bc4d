//! Batch mode against what the real tool did: given the same lines and the same kernel we print what rdma(8) printed,
//! fail at the same lines, and end with the same status. The cases are in `tests/data/batch`.
#![allow(clippy::unwrap_used, clippy::panic)]

#[allow(dead_code)]
mod rdma_support;

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use rdma_operator::cli::rdma::{Batch, Style};
use rdma_support::{Case, cases};

/// Why a case does not end with rdma(8)'s status.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("unknown_object", "rdma(8) exits with 0 after a word it does not know; we exit with 1"),
    ("unknown_word", "rdma(8) exits with 0 after a word it does not know; we exit with 1"),
    ("continuation", "rdma(8) exits with 0 though it did not run the last command; we exit with 1"),
];

/// A recorded run: `$ ` the command line, `out: ` and `err: ` what it printed, `rc=` its status.
struct Recording {
    name: String,
    options: Vec<String>,
    stdout: String,
    failed: Vec<String>,
    code: i32,
}

impl Recording {
    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let with = |start: &str| text.lines().filter_map(|line| line.strip_prefix(start)).collect::<Vec<_>>();
        Self {
            name: path.file_stem().unwrap().to_str().unwrap().to_owned(),
            options: with("$ rdma ")[0].split(' ').map(str::to_owned).collect(),
            stdout: with("out: ").iter().map(|line| format!("{line}\n")).collect(),
            failed: failed(&with("err: ").join("\n")),
            code: with("rc=")[0].parse().unwrap(),
        }
    }

    /// The batch these options ask for.
    fn batch(&self, folder: &Path) -> Batch<Cursor<Vec<u8>>> {
        let has = |letter: char, long: &str| {
            let is_option = |word: &&String| word.len() > 1 && word.starts_with('-');
            let mut options = self.options.iter().filter(is_option);
            options
                .any(|word| *word == format!("--{long}") || !word.starts_with("--") && word.contains(letter))
        };
        let style = Style {
            json: has('j', "json"),
            pretty: has('p', "pretty"),
            details: has('d', "details").into(),
            ..Style::default()
        };
        Batch {
            input: Cursor::new(fs::read(folder.join(format!("{}.cmds", self.name))).unwrap()),
            name: self.options.last().unwrap().clone(),
            force: has('f', "force"),
            style,
        }
    }
}

/// Where commands failed: `Command failed FILE:LINE`.
fn failed(stderr: &str) -> Vec<String> {
    stderr.lines().filter_map(|line| line.strip_prefix("Command failed ")).map(str::to_owned).collect()
}

fn link_show() -> Case {
    cases().into_iter().find(|case| case.name == "7.3/link_show").unwrap()
}

#[tokio::test]
async fn recorded_batches_run_as_rdma_ran_them() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/batch");
    let kernel = link_show();
    let (mut equal, mut failures) = (0, Vec::new());
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rec") {
            continue;
        }
        let theirs = Recording::read(&path);
        let ours = kernel.run_batch(theirs.batch(&folder)).await;
        let ours_failed = failed(&ours.stderr);
        if EXCEPTIONS.iter().any(|(name, _)| *name == theirs.name) {
            assert_eq!((ours.code, theirs.code), (Some(1), 0), "{}", theirs.name);
            assert!(!ours.stderr.is_empty(), "{}", theirs.name);
        } else if (&ours.stdout, ours.code, &ours_failed)
            == (&theirs.stdout, Some(theirs.code), &theirs.failed)
        {
            equal += 1;
        } else {
            failures.push(format!(
                "== {}\nrdma(8), exit {}, failed {:?}:\n{}we, exit {:?}, failed {ours_failed:?}:\n{}{}",
                theirs.name, theirs.code, theirs.failed, theirs.stdout, ours.code, ours.stdout, ours.stderr
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(equal >= 12, "the cases are there: {equal}");
}

fn batch(commands: &str, force: bool) -> Batch<Cursor<Vec<u8>>> {
    let input = Cursor::new(commands.as_bytes().to_vec());
    Batch { input, name: "file".into(), force, style: Style::default() }
}

#[tokio::test]
async fn a_batch_says_what_is_wrong_and_where() {
    let kernel = link_show();
    let outcome = kernel.run_batch(batch("link foo\nlink show rxe0/1\n", false)).await;
    let said = "rdma-operator: link: \"foo\" is not known here; one of: show, list, add, delete\nCommand failed file:1\n";
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str(), outcome.code), ("", said, Some(1)));
    let outcome = kernel.run_batch(batch("link show rxe0/1\nlink \"show\n", true)).await;
    assert_eq!(outcome.stderr, "rdma-operator: file:2: a quoted word does not end\n");
    assert_eq!(outcome.code, Some(1));
}

#[tokio::test]
async fn lines_have_options_and_help_of_their_own() {
    let commands = "-j link show rxe0/1\nlink -o show siw0/1\nhelp\nlink h\n-V\n";
    let outcome = link_show().run_batch(batch(commands, false)).await;
    let lines: Vec<_> = outcome.stdout.lines().collect();
    assert!(lines[0].starts_with("[{\"ifindex\":0,\"ifname\":\"rxe0\""), "{}", outcome.stdout);
    assert_eq!(lines[2], "link siw0/1 state ACTIVE physical_state LINK_UP netdev eth0 ");
    let rest = outcome.stdout.lines().skip(3).collect::<Vec<_>>().join("\n");
    for part in
        ["Usage: rdma-operator [OPTIONS] OBJECT", "Usage: rdma-operator [OPTIONS] link", "rdma-operator 0."]
    {
        assert!(rest.contains(part), "{part}: {rest}");
    }
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", Some(0)));
}

/// By the real binary: what clap takes, and standard input.
#[test]
fn the_binary_runs_batches() {
    let run = |args: &[&str], input: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("commands");
        fs::write(&path, input).unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rdma-operator"));
        command.args(args).env_clear().current_dir(folder.path()).stdin(fs::File::open(&path).unwrap());
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    for args in
        [&["-b", "commands"][..], &["-jb", "-"], &["--batch", "commands"], &["--bat=-", "link", "show"]]
    {
        let (code, stdout, stderr) = run(args, "\nlink foo\nlink help\n");
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(stderr.ends_with(&format!("Command failed {}:2\n", name(args))), "{args:?}: {stderr}");
    }
    for args in [&["-fb", "commands"][..], &["-f", "-b", "-"], &["--force", "--batch", "-"]] {
        let (code, stdout, stderr) = run(args, "link foo\nlink help");
        assert_eq!(code, Some(1), "{args:?}: {stderr}");
        assert!(stdout.starts_with("Usage: rdma-operator [OPTIONS] link"), "{args:?}: {stdout}");
        assert!(stderr.ends_with(&format!("Command failed {}:1\n", name(args))), "{args:?}: {stderr}");
    }
    assert_eq!(run(&["-b", "-"], "# nothing\n"), (Some(0), String::new(), String::new()));
    let (code, _, stderr) = run(&["-b", "nope"], "");
    assert_eq!(
        (code, stderr.as_str()),
        (Some(1), "rdma-operator: opening \"nope\": No such file or directory (os error 2)\n")
    );
    let (code, _, stderr) = run(&["-b", "commands", "crds"], "");
    assert_eq!(code, Some(2), "{stderr}");
    let (code, _, stderr) = run(&["-j"], "");
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("which command?"), "{stderr}");
}

fn name(args: &[&str]) -> &'static str {
    if args.contains(&"commands") { "commands" } else { "-" }
}
