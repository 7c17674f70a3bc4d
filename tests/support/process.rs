//! The real binary as a process.
// Each test program uses some of it.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const WAIT: Duration = Duration::from_secs(30);

pub(crate) fn binary() -> Command {
    // A program that was brought to another host has it beside itself.
    let built = PathBuf::from(env!("CARGO_BIN_EXE_rdma-operator"));
    let beside = std::env::current_exe().unwrap().with_file_name("rdma-operator");
    let mut command = Command::new(if built.exists() { built } else { beside });
    command.env_clear().env("HOME", "/nonexistent").env("RUST_BACKTRACE", "0");
    command
}

pub(crate) fn output(args: &[&str]) -> (Output, String) {
    let output = binary().args(args).output().unwrap();
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    (output, text)
}

/// A process that goes on, and what it logs.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) lines: Receiver<String>,
    seen: Vec<String>,
}

impl Running {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut child = binary().args(args).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Self { child, lines, seen: Vec::new() }
    }

    /// The first line that contains all of `words`.
    pub(crate) fn says(&mut self, words: &[&str]) -> String {
        let end = Instant::now() + WAIT;
        while let Ok(line) = self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            self.seen.push(line.clone());
            if words.iter().all(|word| line.contains(word)) {
                assert!(self.child.try_wait().unwrap().is_none(), "it goes on");
                return line;
            }
        }
        panic!("no line with {words:?} in {:#?}", self.seen);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exit status and standard error of a command that ends.
pub(crate) fn ends(args: &[&str]) -> (Option<i32>, String) {
    let (output, text) = output(args);
    (output.status.code(), text)
}

pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

pub(crate) fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}
