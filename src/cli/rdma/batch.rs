//! Batch mode, `-b FILE`: a command a line, as rdma(8) reads them.

use std::io::{self, BufRead, Write};

use anyhow::{Context, Result};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{Host, Invocation, Style, run};
use crate::nl::{Events, Handle};
use crate::telemetry::chain;

/// How many commands are read ahead.
const AHEAD: usize = 16;

/// Where commands come from, and what becomes of failures.
#[derive(Debug)]
pub struct Batch<R> {
    /// The commands.
    pub input: R,
    /// Its name, for texts: `-` is standard input.
    pub name: String,
    /// Go on after a command that failed.
    pub force: bool,
    /// How every command prints; options on its line add to it.
    pub style: Style,
}

/// A command's words, and the number of the last line they are on.
type Line = (Vec<String>, u64);

/// Why there is no next command.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("reading")]
    Io(#[from] io::Error),
    #[error("a quoted word does not end")]
    Quote,
    #[error("the line goes on, but there is no next one")]
    Continuation,
}

/// Runs the commands of a batch one after the other; false if any of them failed. `open` makes the connection of each,
/// as [`run`] wants it.
///
/// What cannot be read ends the batch, with or without `force`.
pub async fn run_batch<R: BufRead + Send + 'static>(
    batch: Batch<R>,
    open: impl Fn(&Invocation) -> Result<(Handle, Events)>,
    host: &dyn Host,
    (out, err): (&mut dyn Write, &mut dyn Write),
    stop: CancellationToken,
) -> bool {
    let Batch { input, name, force, style } = batch;
    // Reading blocks, for as long as whoever writes the commands pleases.
    let (sender, mut lines) = mpsc::channel(AHEAD);
    let reader = std::thread::Builder::new().name("batch".into()).spawn(move || read(input, &sender));
    let mut success = true;
    if let Err(error) = reader {
        complain(err, &anyhow::Error::from(error).context("starting the thread that reads the commands"));
        return false;
    }
    loop {
        let line = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            line = lines.recv() => line,
        };
        let (words, number) = match line {
            None => break,
            Some(Ok(line)) => line,
            Some(Err((number, error))) => {
                complain(err, &anyhow::Error::from(error).context(format!("{name}:{number}")));
                success = false;
                break;
            }
        };
        let kernel = Invocation::parse(style, &words).and_then(|command| match command.text() {
            Some(text) => {
                out.write_all(text.as_bytes())?;
                out.flush()?;
                Ok(None)
            }
            None => Ok(Some((open(&command)?, command))),
        });
        let done = match kernel {
            Ok(None) => true,
            Ok(Some((kernel, command))) => {
                run(command, kernel, host, (&mut *out, &mut *err), stop.clone()).await
            }
            Err(error) => {
                complain(err, &error);
                false
            }
        };
        if !done {
            success = false;
            let _ = writeln!(err, "Command failed {name}:{number}");
            if !force {
                break;
            }
        }
    }
    success
}

fn complain(err: &mut dyn Write, error: &anyhow::Error) {
    // Nobody to tell if this fails too.
    let _ = writeln!(err, "rdma-operator: {}", chain(error.as_ref()));
}

fn read(mut input: impl BufRead, to: &mpsc::Sender<Result<Line, (u64, Unreadable)>>) {
    let mut number = 0;
    loop {
        let item = match next(&mut input, &mut number) {
            Ok(None) => return,
            Ok(Some(words)) if words.is_empty() => continue,
            Ok(Some(words)) => Ok((words, number)),
            Err(error) => Err((number, error)),
        };
        let last = item.is_err();
        // Nobody wants more: a command has failed.
        if to.blocking_send(item).is_err() || last {
            return;
        }
    }
}

/// The words of the next line and of those it goes on in; `None` at the end.
fn next(input: &mut impl BufRead, number: &mut u64) -> Result<Option<Vec<String>>, Unreadable> {
    let Some(mut text) = line(input, number)? else { return Ok(None) };
    while let Some(start) = text.strip_suffix("\\\n") {
        let start = start.to_owned();
        let Some(more) = line(input, number)? else { return Err(Unreadable::Continuation) };
        text = start + &more;
    }
    split(&text).map(Some)
}

/// A line without its comment, which also hides that the line goes on.
fn line(input: &mut impl BufRead, number: &mut u64) -> Result<Option<String>, Unreadable> {
    let mut bytes = Vec::new();
    if input.read_until(b'\n', &mut bytes)? == 0 {
        return Ok(None);
    }
    *number += 1;
    if let Some(comment) = bytes.iter().position(|byte| *byte == b'#') {
        bytes.truncate(comment);
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Words between blanks. One that begins with a quote goes on to the next such quote; there are no other escapes.
fn split(mut text: &str) -> Result<Vec<String>, Unreadable> {
    const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];
    let mut words = Vec::new();
    loop {
        text = text.trim_start_matches(BLANK);
        let Some(first) = text.chars().next() else { return Ok(words) };
        let (word, rest) = match first {
            '\'' | '"' => {
                let quoted = text.get(1..).unwrap_or_default();
                quoted.split_once(first).ok_or(Unreadable::Quote)?
            }
            _ => text.split_once(BLANK).unwrap_or((text, "")),
        };
        words.push(word.to_owned());
        text = rest;
    }
}

/// Opens the file of commands; `-` is standard input.
///
/// # Errors
/// When it cannot be opened.
pub(super) fn open_file(name: &str) -> Result<Box<dyn BufRead + Send>> {
    Ok(match name {
        "-" => Box::new(io::BufReader::new(io::stdin())),
        _ => {
            let file = std::fs::File::open(name);
            Box::new(io::BufReader::new(file.with_context(|| format!("opening {name:?}"))?))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words and line numbers, and why it ended if not at the end.
    fn commands(text: &str) -> (Vec<(String, u64)>, Option<String>) {
        let (sender, mut receiver) = mpsc::channel(100);
        read(text.as_bytes(), &sender);
        drop(sender);
        let (mut lines, mut end) = (Vec::new(), None);
        while let Some(item) = receiver.blocking_recv() {
            match item {
                Ok((words, number)) => lines.push((words.join("|"), number)),
                Err((number, error)) => end = Some(format!("{number}: {error}")),
            }
        }
        (lines, end)
    }

    #[test]
    fn lines_are_read_as_rdma_reads_them() {
        for (text, expected) in [
            ("", vec![]),
            ("\n\n #x\n", vec![]),
            ("link show", vec![("link|show", 1)]),
            ("\tlink  show\r\n\ndev#x\n", vec![("link|show", 1), ("dev", 3)]),
            ("link \\\n\\\nshow\ndev\n", vec![("link|show", 3), ("dev", 4)]),
            ("link show \\", vec![("link|show|\\", 1)]),
            ("#a \\\nlink\n", vec![("link", 2)]),
            ("link # a \\\ndev\n", vec![("link", 1), ("dev", 2)]),
            ("link \\\n # a \\\ndev\n", vec![("link", 2), ("dev", 3)]),
            ("a 'b c' \"d'\" e'f g\"h\n", vec![("a|b c|d'|e'f|g\"h", 1)]),
            ("a '' 'b'c\n", vec![("a||b|c", 1)]),
        ] {
            let expected = expected.into_iter().map(|(words, number)| (words.to_owned(), number)).collect();
            assert_eq!(commands(text), (expected, None), "{text:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_ends_the_batch() {
        let end = |number: u64, why: &str| Some(format!("{number}: {why}"));
        let one = vec![("dev".to_owned(), 1)];
        assert_eq!(commands("dev\nlink 'x\ndev\n"), (one.clone(), end(2, "a quoted word does not end")));
        let continuation = end(2, "the line goes on, but there is no next one");
        assert_eq!(commands("dev\nlink \\\n"), (one, continuation));
    }
}
