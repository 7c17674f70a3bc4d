//! Ctrl-C and SIGTERM become errors of the command that is running, so that clean-up runs as it does after
//! any other failure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Catches the two signals from here on.
pub(crate) fn catch() -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&FLAG))?;
    }
    Ok(())
}

/// Fails once a signal has arrived.
pub(crate) fn check() -> Result<()> {
    if FLAG.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

/// Forgets a signal that has arrived: what follows is clean-up, and must run.
pub(crate) fn forget() {
    FLAG.store(false, Ordering::Relaxed);
}

/// Asks `ready` every `pause` until it says yes, at most for `limit`; false when time ran out.
pub(crate) fn wait_until(
    limit: Duration,
    pause: Duration,
    mut ready: impl FnMut() -> Result<bool>,
) -> Result<bool> {
    let start = std::time::Instant::now();
    while start.elapsed() < limit {
        check()?;
        if ready()? {
            return Ok(true);
        }
        thread::sleep(pause);
    }
    Ok(false)
}
