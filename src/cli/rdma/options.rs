//! rdma(8)'s options among the words of a command, as getopt_long(3) finds them.

use anyhow::{Result, bail};

use super::output::Style;
use super::words::{HelpWanted, is_help};
use super::{Command, Invocation, Object, parse};

/// The long forms, which may be cut short, and the letters that do the same.
const LONG: [(&str, char); 8] = [
    ("version", 'V'),
    ("help", 'h'),
    ("json", 'j'),
    ("oneline", 'o'),
    ("pretty", 'p'),
    ("details", 'd'),
    ("raw", 'r'),
    ("force", 'f'),
];

/// What was asked for with a dash.
#[derive(Debug)]
pub(super) struct Options {
    style: Style,
    help: bool,
    version: bool,
}

impl Options {
    /// Options that add to `style`.
    pub(super) fn new(style: Style) -> Self {
        Self { style, help: false, version: false }
    }

    /// Reads what begins with a dash; what is left are plain words. After `--` all are.
    ///
    /// # Errors
    /// Names the option that is none.
    pub(super) fn take_out_of(&mut self, words: &[String]) -> Result<Vec<String>> {
        let mut plain = Vec::new();
        let mut rest = words.iter();
        for word in rest.by_ref() {
            match word.strip_prefix('-') {
                Some("-") => break,
                Some("") | None => plain.push(word.clone()),
                Some(option) if self.set(option) => {}
                Some(_) => bail!("{word:?} is no option here; options are -j -p -d -r -o"),
            }
        }
        plain.extend(rest.cloned());
        Ok(plain)
    }

    fn set(&mut self, option: &str) -> bool {
        match option.strip_prefix('-') {
            // Their first letters differ, so that any beginning will do.
            Some(long) => {
                let found = LONG.into_iter().find(|(name, _)| name.starts_with(long));
                found.is_some_and(|(_, letter)| self.letter(letter))
            }
            None => option.chars().all(|letter| self.letter(letter)),
        }
    }

    fn letter(&mut self, letter: char) -> bool {
        match letter {
            'j' => self.style.json = true,
            'p' => self.style.pretty = true,
            'o' => self.style.oneline = true,
            'd' => self.style.details = self.style.details.saturating_add(1),
            'r' => self.style.raw = true,
            'h' => self.help = true,
            'V' => self.version = true,
            // One command has nothing to go on with.
            'f' => {}
            _ => return false,
        }
        true
    }

    /// Reads the words after `object`; without one only help is left.
    ///
    /// # Errors
    /// Names the word that is wrong, missing or too much.
    pub(super) fn read(self, object: Option<Object>, words: &[String]) -> Result<Invocation> {
        let command = match object {
            _ if self.version => Command::Version,
            Some(object) if !self.help && !words.first().is_some_and(|word| is_help(word)) => {
                match parse(object, words) {
                    Err(error) if error.is::<HelpWanted>() => Command::Help(Some(object)),
                    parsed => parsed?,
                }
            }
            object => Command::Help(object),
        };
        Ok(Invocation { style: self.style, command })
    }
}
