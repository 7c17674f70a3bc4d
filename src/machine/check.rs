//! Loading a document: what contradicts itself is an error that names the line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::document::{KIND, Machine};
use super::locate::{Step, line, options};
use super::{check_devices, errno, words};

/// `apiVersion` of the document.
pub const API_VERSION: &str = "rdma-operator.dev/v1alpha1";

/// A document that cannot be used: `FILE:LINE: what is wrong, what is expected`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{origin}:{line}: {message}")]
pub struct Error {
    /// The file's name, or `<stdin>`.
    pub origin: String,
    /// From 1.
    pub line: u64,
    /// One line.
    pub message: String,
}

impl Machine {
    /// The document `text`, checked; `origin` is what messages call it: a file name or `<stdin>`.
    ///
    /// # Errors
    /// The first line that is no YAML, has an unknown key or a value of the wrong kind, or contradicts the rest.
    pub fn load(text: &str, origin: &str) -> Result<Self, Error> {
        let error = |line, message| Error { origin: origin.to_owned(), line, message };
        let machine: Self = serde_saphyr::from_str_with_options(text, options()).map_err(|wrong| {
            let line = wrong.location().map_or(1, |location| location.line());
            error(line.max(1), plain(&wrong, text))
        })?;
        let located = machine.contradictions().into_iter().map(|contradiction| {
            let line = line(text, &contradiction.path).unwrap_or(1);
            (line, contradiction.message)
        });
        match located.min_by_key(|(line, _)| *line) {
            None => Ok(machine),
            Some((line, message)) => Err(error(line, message)),
        }
    }

    /// What is wrong with a document that was not loaded from a text: the first contradiction, if there is one.
    #[must_use]
    pub fn contradiction(&self) -> Option<String> {
        let first = self.contradictions().into_iter().next()?;
        Some(format!("{}: {}", Steps(&first.path), first.message))
    }

    fn contradictions(&self) -> Vec<Contradiction> {
        let mut check = Check::default();
        check.machine(self);
        check.found
    }
}

/// The parser's words in one line, without the place, which comes before them, but with what stands there.
fn plain(error: &serde_saphyr::Error, text: &str) -> String {
    let message = error.without_snippet().to_string();
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(location) = error.location() else { return message };
    let place = format!("line {} column {}: ", location.line(), location.column());
    let after = format!(" at line {}, column {}", location.line(), location.column());
    let message = message.replace(&place, "").replace(&after, "");
    let number = |number: u64| usize::try_from(number.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = text.lines().nth(number(location.line())).unwrap_or_default();
    let rest: String = line.chars().skip(number(location.column())).collect();
    let found = rest.split([',', '}', ']']).next().unwrap_or_default().trim();
    match found.is_empty() || message.contains(found) {
        true => message,
        false => format!("{message}: {:?}", found.chars().take(40).collect::<String>()),
    }
}

#[derive(Debug)]
struct Contradiction {
    path: Vec<Step>,
    message: String,
}

struct Steps<'a>(&'a [Step]);

impl fmt::Display for Steps<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if index == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

/// Where a value is, as a chain of steps from the top.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    above: Option<&'a At<'a>>,
    key: &'a str,
    item: Option<usize>,
}

impl<'a> At<'a> {
    pub(super) const TOP: Self = Self { above: None, key: "", item: None };

    /// The value of `key` here.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { above: Some(self), key, item: None }
    }

    /// The element `item`, from 0, of the list here.
    pub(super) fn item(&'a self, item: usize) -> Self {
        Self { above: Some(self), key: "", item: Some(item) }
    }

    fn path(&self) -> Vec<Step> {
        let Some(above) = self.above else { return Vec::new() };
        let mut path = above.path();
        path.push(self.item.map_or_else(|| Step::Key(self.key.to_owned()), Step::Item));
        path
    }

    /// The key this is the value of, or of whose list it is an element.
    fn name(&self) -> &'a str {
        match (self.item, self.above) {
            (Some(_), Some(above)) => above.name(),
            _ => self.key,
        }
    }
}

/// What is met while going through a document.
#[derive(Default)]
pub(super) struct Check<'m> {
    found: Vec<Contradiction>,
    /// Names of the netdevs.
    pub(super) netdevs: BTreeSet<&'m str>,
    /// Names of the devices.
    pub(super) devices: BTreeSet<&'m str>,
    /// Values that must differ, by what they are: where each was first met.
    taken: BTreeMap<(&'static str, String), String>,
}

impl<'m> Check<'m> {
    /// Notes that what is at `at` is wrong.
    pub(super) fn wrong(&mut self, at: &At<'_>, message: String) {
        self.found.push(Contradiction { path: at.path(), message });
    }

    /// `text` must have a shape, which `expected` describes.
    pub(super) fn shape(&mut self, at: &At<'_>, text: &str, fits: bool, expected: &str) {
        if !fits {
            self.wrong(at, format!("{} {text:?}: expected {expected}", at.name()));
        }
    }

    /// `text`, if there is one, must be one of `words`.
    pub(super) fn word(&mut self, at: &At<'_>, text: Option<&str>, words: &[&str]) {
        if let Some(text) = text.filter(|text| !words.contains(text)) {
            self.wrong(
                at,
                format!("{} {text:?} is unknown: expected one of {}", at.name(), words.join(", ")),
            );
        }
    }

    /// The netdev called `name`, if one is, must be in the document.
    pub(super) fn netdev(&mut self, at: &At<'_>, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !self.netdevs.contains(name)) {
            let message = format!("{} {name:?} is not in netdevs: add it there, or write null", at.name());
            self.wrong(at, message);
        }
    }

    /// No other `what` may have this value.
    pub(super) fn unique(&mut self, at: &At<'_>, what: &'static str, value: impl fmt::Display) {
        let key = (what, value.to_string());
        match self.taken.get(&key) {
            Some(first) => {
                let message = format!("{what} {} is already that of {first}: expected another", key.1);
                self.wrong(at, message);
            }
            None => {
                let first = Steps(&at.path()).to_string();
                self.taken.insert(key, first);
            }
        }
    }

    fn machine(&mut self, machine: &'m Machine) {
        let top = At::TOP;
        self.shape(
            &top.key("apiVersion"),
            &machine.api_version,
            machine.api_version == API_VERSION,
            API_VERSION,
        );
        self.shape(&top.key("kind"), &machine.kind, machine.kind == KIND, KIND);
        let name = &machine.metadata.name;
        let fits = words::is_file_name(name, 253);
        self.shape(&top.key("metadata").key("name"), name, fits, "a name without slashes");
        let release = &machine.kernel.release;
        let fits = crate::inventory::movable::series(release).is_some();
        let kernel = top.key("kernel");
        self.shape(&kernel.key("release"), release, fits, "what uname -r prints, like 6.12.57");
        let modules = kernel.key("modules");
        for (index, module) in machine.kernel.modules.iter().enumerate() {
            let at = modules.item(index);
            self.shape(&at, module, words::is_file_name(module, 63), "the name of a module");
            self.unique(&at, "module", module);
        }
        self.netdevs = machine.netdevs.iter().map(|netdev| netdev.name.as_str()).collect();
        self.devices = machine.devices.iter().map(|device| device.name.as_str()).collect();
        check_devices::netdevs(self, &top.key("netdevs"), &machine.netdevs);
        check_devices::devices(self, &top.key("devices"), &machine.devices);
        check_devices::resources(self, &top.key("resources"), &machine.resources);
        let nodes = top.key("charDevices");
        for (index, node) in machine.char_devices.iter().enumerate() {
            let at = nodes.item(index);
            self.shape(&at, node, words::is_file_name(node, 255), "a name below /dev/infiniband");
            self.unique(&at, "node", node);
        }
        let faults = top.key("faults");
        for (index, fault) in machine.faults.iter().enumerate() {
            let at = faults.item(index);
            let inside =
                !fault.path.is_empty() && fault.path.split('/').all(|part| words::is_file_name(part, 255));
            let expected = "a path below /sys without a slash before it and without ..";
            self.shape(&at.key("path"), &fault.path, inside, expected);
            let known = errno::number(&fault.errno).is_some();
            self.shape(&at.key("errno"), &fault.errno, known, "the name of an error number, like EINVAL");
            self.unique(&at.key("path"), "fault", &fault.path);
        }
    }
}
