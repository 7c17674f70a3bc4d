//! rdma(8)'s grammar: words, most of them keywords that may be cut short.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};

/// Not a fault: `help` stands where a keyword is wanted.
#[derive(Debug, thiserror::Error)]
#[error("help is wanted")]
pub(super) struct HelpWanted;

/// Whether the word asks for help; it may be cut short as every keyword.
pub(super) fn is_help(word: &str) -> bool {
    is_prefix(word, "help")
}

/// The words of a command, taken one by one. Error texts begin with the words taken so far.
#[derive(Debug)]
pub(super) struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    path: String,
}

impl<'a> Words<'a> {
    /// The words after `object`.
    pub(super) fn new(object: &str, words: &'a [String]) -> Self {
        Self { rest: words.iter(), path: object.to_owned() }
    }

    /// What has been understood so far, for texts.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The next word, left where it is.
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.rest.as_slice().first().map(String::as_str)
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(String::as_str)
    }

    /// Whether anything is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.as_slice().is_empty()
    }

    /// One of these keywords or a beginning of it; as in rdma(8) the first one of the table that fits.
    /// `default` if nothing is left.
    ///
    /// # Errors
    /// Names the word and what would have been right.
    pub(super) fn keyword<T: Copy>(&mut self, table: &[(&str, T)], default: Option<T>) -> Result<T> {
        let Some(word) = self.peek() else {
            return default.ok_or_else(|| anyhow!("{}: what? {}", self.path, one_of(table)));
        };
        let Some((name, value)) = find(table, word) else {
            if is_help(word) {
                return Err(HelpWanted.into());
            }
            bail!("{}: {word:?} is not known here; {}", self.path, one_of(table));
        };
        self.next();
        self.path = format!("{} {name}", self.path);
        Ok(value)
    }

    /// One of these keywords, if the next word is one.
    pub(super) fn take<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        let (_, value) = find(table, self.peek()?)?;
        self.next();
        Some(value)
    }

    /// This keyword, which has to be there.
    ///
    /// # Errors
    /// Names what is missing.
    pub(super) fn expect(&mut self, keyword: &str) -> Result<()> {
        match self.next() {
            Some(word) if is_prefix(word, keyword) => Ok(()),
            Some("help") => Err(HelpWanted.into()),
            Some(word) => bail!("{}: {keyword:?} is wanted here, not {word:?}", self.path),
            None => bail!("{}: {keyword:?} is missing", self.path),
        }
    }

    /// A word that may be anything.
    ///
    /// # Errors
    /// Says what is missing.
    pub(super) fn value(&mut self, what: &str) -> Result<&'a str> {
        self.next().with_context(|| format!("{}: {what} is missing", self.path))
    }

    /// The name of something new; `help` is none.
    ///
    /// # Errors
    /// Says what is missing.
    pub(super) fn new_name(&mut self) -> Result<String> {
        match self.value("the name of the new device")? {
            "help" => Err(HelpWanted.into()),
            name => Ok(name.to_owned()),
        }
    }

    /// A number.
    ///
    /// # Errors
    /// Names the word that is none.
    pub(super) fn number<T>(&mut self, what: &str) -> Result<T>
    where
        T: FromStr,
        T::Err: Display,
    {
        let word = self.value(what)?;
        word.parse().map_err(|error| anyhow!("{}: {what} {word:?}: {error}", self.path))
    }

    /// `on` or `off`.
    ///
    /// # Errors
    /// Names the word that is neither.
    pub(super) fn on_off(&mut self) -> Result<bool> {
        match self.value("on or off")? {
            "on" => Ok(true),
            "off" => Ok(false),
            word => bail!("{}: on or off is wanted here, not {word:?}", self.path),
        }
    }

    /// Makes sure that nothing is left.
    ///
    /// # Errors
    /// Names the word that is too much.
    pub(super) fn finish(&mut self) -> Result<()> {
        match self.next() {
            Some(word) => bail!("{}: {word:?} is too much", self.path),
            None => Ok(()),
        }
    }
}

fn is_prefix(word: &str, keyword: &str) -> bool {
    !word.is_empty() && keyword.starts_with(word)
}

fn find<'t, T: Copy>(table: &[(&'t str, T)], word: &str) -> Option<(&'t str, T)> {
    table.iter().find(|(name, _)| is_prefix(word, name)).copied()
}

fn one_of<T>(table: &[(&str, T)]) -> String {
    let names: Vec<_> = table.iter().map(|(name, _)| *name).collect();
    format!("one of: {}", names.join(", "))
}

/// `DEV`, `DEV/PORT` or `DEV/-`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    /// Device name.
    pub(super) device: String,
    /// Which of its ports.
    pub(super) port: PortChoice,
}

/// Which ports of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortChoice {
    /// All of them, and what has no port.
    All,
    /// Only what has no port.
    Without,
    /// This one.
    One(u32),
}

impl Target {
    /// Reads `DEV/PORT`. Device names have no slash: the kernel makes it an exclamation mark.
    ///
    /// # Errors
    /// When what follows the slash is neither a number nor `-`.
    pub(super) fn parse(word: &str) -> Result<Self> {
        let (device, port) = match word.rsplit_once('/') {
            None => (word, PortChoice::All),
            Some((device, "-")) => (device, PortChoice::Without),
            Some((device, port)) => match port.parse() {
                Ok(port) => (device, PortChoice::One(port)),
                Err(_) => bail!("{word:?} is no DEV/PORT: {port:?} is no port number"),
            },
        };
        Ok(Self { device: device.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn keywords_may_be_cut_short() {
        let list = words("sho mr x");
        let mut words = Words::new("resource", &list);
        assert_eq!(words.keyword(&[("show", 1), ("set", 2)], None).unwrap(), 1);
        assert_eq!(words.path(), "resource show");
        assert_eq!(words.take(&[("mr", 1)]), Some(1));
        assert_eq!(words.take(&[("mr", 1)]), None);
        let error = words.keyword(&[("dev", 1), ("link", 2)], None).unwrap_err().to_string();
        assert_eq!(error, "resource show: \"x\" is not known here; one of: dev, link");
        assert_eq!(words.finish().unwrap_err().to_string(), "resource show: \"x\" is too much");
    }

    #[test]
    fn targets_are_read() {
        let target = |word| Target::parse(word).unwrap();
        assert_eq!(target("mlx5_0"), Target { device: "mlx5_0".into(), port: PortChoice::All });
        assert_eq!(target("a!b/2"), Target { device: "a!b".into(), port: PortChoice::One(2) });
        assert_eq!(target("rxe0/-").port, PortChoice::Without);
        assert!(Target::parse("rxe0/x").is_err());
    }
}
