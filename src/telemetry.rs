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

/// Starts logging to standard error. `filter` is a directive list as of `RUST_LOG`: `info,rdma_operator=debug`.
///
/// # Errors
/// When a directive cannot be parsed; the text names it.
pub fn init(filter: &str, format: LogFormat) -> Result<(), tracing_subscriber::filter::ParseError> {
    let filter = EnvFilter::try_new(filter)?;
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
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = one(error);
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        cause = error.source();
    }
    line
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
            _ => error.to_string(),
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
    fn a_repeated_failure_is_said_once_and_again_after_it_was_well() {
        let log = OnChange::default();
        assert!(log.is_news("lease", "refused"));
        assert!(!log.is_news("lease", "refused"));
        assert!(log.is_news("lease", "forbidden"));
        log.clear("lease");
        assert!(log.is_news("lease", "forbidden"));
    }
}
