//! What a plugin is told from outside.

use std::path::PathBuf;
use std::time::Duration;

use crate::pool;

/// Where to serve and what to offer.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The kubelet's device plugin directory. The kubelet always uses `/var/lib/kubelet/device-plugins`, whatever
    /// its `--root-dir`.
    pub dir: PathBuf,
    /// Where this process sees the host's `/dev`.
    pub dev_root: PathBuf,
    /// Where to keep, over restarts, what was given out. `None`: in memory only.
    pub state: Option<PathBuf>,
    /// What to offer.
    pub pool: pool::Settings,
    /// What this node offered before this process started, where that is known.
    pub known: Vec<pool::Known>,
    /// How long things take.
    pub timing: Timing,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dir: PathBuf::from("/var/lib/kubelet/device-plugins"),
            dev_root: PathBuf::from("/dev"),
            state: None,
            pool: pool::Settings::default(),
            known: Vec::new(),
            timing: Timing::default(),
        }
    }
}

/// Durations; tests shorten them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long a device that went away stays on the list, Unhealthy.
    pub grace: Duration,
    /// How often to look at the kubelet's socket though no event came.
    pub poll: Duration,
    /// How often to look while the directory is missing or cannot be watched.
    pub look_again: Duration,
    /// First pause after a failure; each further one is twice as long.
    pub retry_min: Duration,
    /// Longest pause.
    pub retry_max: Duration,
    /// How long a call may take, in either direction.
    pub call: Duration,
    /// How long after a registration the kubelet may have no list stream open.
    pub stream: Duration,
    /// How long the kubelet gets to notice that a list stream has ended, before the same resource is registered
    /// again: it finds its clients by resource name, and would take the new one down in the old one's place.
    pub settle: Duration,
    /// How long a resource without devices stays served, so that the kubelet sees the empty list.
    pub linger: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(60),
            poll: Duration::from_secs(30),
            look_again: Duration::from_secs(1),
            retry_min: Duration::from_millis(100),
            retry_max: Duration::from_secs(30),
            call: Duration::from_secs(10),
            stream: Duration::from_secs(5),
            settle: Duration::from_millis(500),
            linger: Duration::from_secs(2),
        }
    }
}
