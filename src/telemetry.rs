//! Logs: set-up, error chains in one line, and saying a thing once.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::EnvFilter;

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Libraries that say at every try what we say once, or at the end that it has ended.
const QUIET: &str = "kube_runtime::watcher=off,kube_client::client::builder=off,netlink_proto=off";

/// A log filter that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A word that is neither a level nor a directive; taken for a target it would turn all else off.
    #[error("{0:?} is no level: off, error, warn, info, debug or trace, or TARGET=LEVEL")]
    Level(String),
    /// A directive that cannot be parsed.
    #[error(transparent)]
    Parse(#[from] tracing_subscriber::filter::ParseError),
}

fn is_directive(word: &str) -> bool {
    word.contains('=') || word.parse::<tracing::Level>().is_ok() || word.eq_ignore_ascii_case("off")
}

/// Starts logging to standard error. `filter` is a directive list as of `RUST_LOG`: `info,rdma_operator=debug`.
///
/// # Errors
/// When a directive cannot be parsed; the text names it.
pub fn init(filter: &str, format: LogFormat) -> Result<(), FilterError> {
    if let Some(word) = filter.split(',').map(str::trim).find(|word| !is_directive(word)) {
        return Err(FilterError::Level(word.to_owned()));
    }
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // Starting twice (tests) keeps the first.
    let _ = match format {
        LogFormat::Text => builder.with_ansi(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    Ok(())
}

/// An error and its causes in one line, leaving out a cause whose text the line already has.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut line = one(error);
    let mut cause = further(error);
    while let Some(error) = cause {
        let text = one(error);
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = further(error);
    }
    line
}

/// The cause, unless the text has it all: a Status is its own cause, with less in it.
fn further<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(_)) => None,
        _ => error.source(),
    }
}

/// kube prints a Status twice, the second time as Rust source; its message alone says it all.
fn one(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => status_text(status),
        _ => match error.downcast_ref::<kube::runtime::watcher::Error>() {
            Some(kube::runtime::watcher::Error::InitialListFailed(_)) => "cannot list".to_owned(),
            Some(kube::runtime::watcher::Error::WatchStartFailed(_)) => "cannot start the watch".to_owned(),
            Some(kube::runtime::watcher::Error::WatchFailed(_)) => "the watch broke".to_owned(),
            Some(kube::runtime::watcher::Error::WatchError(status)) => status_text(status),
            _ => error.to_string().lines().map(str::trim).collect::<Vec<_>>().join(" "),
        },
    }
}

fn status_text(status: &kube::core::Status) -> String {
    let message = status.message.trim();
    if message.is_empty() { format!("{} (HTTP {})", status.reason, status.code) } else { message.to_owned() }
}

/// Says a message when it differs from the last one said on the same subject.
#[derive(Debug, Default)]
pub struct OnChange {
    last: Mutex<HashMap<String, String>>,
}

impl OnChange {
    /// True when `message` is news on `subject`.
    pub fn is_news(&self, subject: &str, message: &str) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.get(subject).is_some_and(|old| old == message) {
            return false;
        }
        last.insert(subject.to_owned(), message.to_owned());
        true
    }

    /// Warns of a failure once, until it changes or is [cleared](Self::clear).
    pub fn warn(&self, subject: &str, message: &str) {
        if self.is_news(subject, message) {
            tracing::warn!("{subject}: {message}");
        }
    }

    /// The subject is well again; says so if a failure was said before.
    pub fn clear(&self, subject: &str) {
        let removed = self.last.lock().unwrap_or_else(PoisonError::into_inner).remove(subject);
        if removed.is_some() {
            tracing::info!("{subject}: works again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        #[source]
        cause: io::Error,
    }

    #[test]
    fn chain_says_nothing_twice() {
        let refused = || io::Error::from_raw_os_error(111);
        let said = Layer { text: "cannot connect: Connection refused (os error 111)", cause: refused() };
        assert_eq!(chain(&said), "cannot connect: Connection refused (os error 111)");
        let unsaid = Layer { text: "cannot connect", cause: refused() };
        assert_eq!(chain(&unsaid), "cannot connect: Connection refused (os error 111)");
    }

    #[test]
    fn what_the_api_server_says_is_said_once() {
        let status = kube::core::Status {
            message: "softrdmalinks.rdma-operator.dev is forbidden".into(),
            reason: "Forbidden".into(),
            code: 403,
            ..kube::core::Status::default()
        };
        let error = kube::runtime::watcher::Error::InitialListFailed(kube::Error::Api(Box::new(status)));
        assert_eq!(chain(&error), "cannot list: softrdmalinks.rdma-operator.dev is forbidden");
    }

    #[test]
    fn a_repeated_failure_is_said_once_and_again_after_it_was_well() {
        let log = OnChange::default();
        assert!(log.is_news("lease", "refused"));
        assert!(!log.is_news("lease", "refused"));
        assert!(log.is_news("lease", "forbidden"));
        log.clear("lease");
        assert!(log.is_news("lease", "forbidden"));
    }
}
