//! Watches the kubelet's directory: is its socket there, is it another one than before, were ours removed?
//!
//! inotify tells at once; a look every now and then finds what it missed.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use inotify::{EventMask, EventStream, Inotify, WatchMask};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

use super::KUBELET_SOCKET;
use super::endpoint::PREFIX;
use super::error::{Error, Trouble};
use super::settings::Timing;

/// What is known of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Why the kubelet's socket cannot be dialled; `None` when it is there.
    pub(crate) trouble: Option<Trouble>,
    /// Counts the kubelet's sockets: another number is another kubelet.
    pub(crate) generation: u64,
    /// Counts removals of our own sockets.
    pub(crate) removals: u64,
}

/// Tells one socket from its successor of the same name. An inode number alone can be used again at once.
type SocketId = (u64, u64, Option<SystemTime>);

/// Looks once, before anything else starts.
pub(crate) fn first_look(dir: &Path) -> (Directory, Watcher) {
    let mut watcher = Watcher { dir: dir.to_owned(), last: None };
    let mut directory = Directory { trouble: None, generation: 0, removals: 0 };
    watcher.look(&mut directory, false);
    (directory, watcher)
}

/// Keeps a [`Directory`] up to date.
#[derive(Debug)]
pub(crate) struct Watcher {
    dir: PathBuf,
    last: Option<SocketId>,
}

impl Watcher {
    /// Runs until `stop`.
    pub(crate) async fn run(
        mut self,
        state: watch::Sender<Directory>,
        timing: Timing,
        stop: CancellationToken,
    ) {
        let mut watchable = true;
        loop {
            match open(&self.dir) {
                Ok(events) => {
                    watchable = true;
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = self.follow(events, &state, &timing) => {}
                    }
                }
                // A directory that is not there is told by the look.
                Err(error) => {
                    if watchable && error.kind() != io::ErrorKind::NotFound {
                        let dir = self.dir.display();
                        tracing::warn!(
                            "cannot watch {dir}, looking at it every {:?}: {error}",
                            timing.look_again
                        );
                    }
                    watchable = false;
                    self.update(&state, false);
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(timing.look_again) => {}
            }
        }
    }

    /// Follows the events of one directory; returns when it is another one or the events end.
    async fn follow(
        &mut self,
        mut events: EventStream<[u8; 1024]>,
        state: &watch::Sender<Directory>,
        timing: &Timing,
    ) {
        let watched = identity(&self.dir);
        // What was there before the watch may still come as an event.
        self.update(state, false);
        let mut replaced = false;
        loop {
            let event = tokio::select! {
                () = sleep(timing.poll) => None,
                event = events.next() => match event {
                    Some(Ok(event)) => Some(event),
                    Some(Err(_)) | None => return,
                },
            };
            let Some(event) = event else {
                self.update(state, false);
                if identity(&self.dir) != watched {
                    return;
                }
                continue;
            };
            let left = event.mask.intersects(EventMask::DELETE | EventMask::MOVED_FROM);
            match event.name.as_ref().and_then(|name| name.to_str()) {
                Some(KUBELET_SOCKET) if left => {
                    replaced = true;
                    self.update(state, false);
                }
                Some(KUBELET_SOCKET) => self.update(state, std::mem::take(&mut replaced)),
                Some(name) if name.starts_with(PREFIX) && left => {
                    state.send_modify(|state| state.removals += 1)
                }
                Some(_) => {}
                None => {
                    // The directory itself went, or events were lost.
                    state.send_modify(|state| state.removals += 1);
                    self.update(state, false);
                    if !event.mask.contains(EventMask::Q_OVERFLOW) {
                        return;
                    }
                }
            }
        }
    }

    fn update(&mut self, state: &watch::Sender<Directory>, replaced: bool) {
        state.send_if_modified(|directory| {
            let before = directory.clone();
            self.look(directory, replaced);
            if directory.trouble != before.trouble {
                match &directory.trouble {
                    Some(trouble) => tracing::warn!(reason = trouble.reason, "{}", trouble.message),
                    None => tracing::info!("the kubelet's socket is there: {}", self.socket().display()),
                }
            }
            *directory != before
        });
    }

    fn look(&mut self, directory: &mut Directory, replaced: bool) {
        match self.kubelet() {
            Ok(id) => {
                if self.last != Some(id) || replaced {
                    directory.generation += 1;
                    self.last = Some(id);
                }
                directory.trouble = None;
            }
            Err(error) => directory.trouble = Some(error.trouble()),
        }
    }

    fn kubelet(&self) -> Result<SocketId, Error> {
        let path = self.socket();
        let missing = || Error::KubeletSocketMissing { path: path.clone() };
        match std::fs::metadata(&path) {
            Ok(metadata) if metadata.file_type().is_socket() => {
                Ok((metadata.dev(), metadata.ino(), metadata.created().ok()))
            }
            Ok(_) => Err(missing()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.dir.is_dir() => Err(missing()),
            Err(error) => Err(Error::at(&self.dir, path, error)),
        }
    }

    fn socket(&self) -> PathBuf {
        self.dir.join(KUBELET_SOCKET)
    }
}

fn open(dir: &Path) -> io::Result<EventStream<[u8; 1024]>> {
    let inotify = Inotify::init()?;
    let mask = WatchMask::CREATE
        | WatchMask::DELETE
        | WatchMask::MOVED_TO
        | WatchMask::MOVED_FROM
        | WatchMask::DELETE_SELF
        | WatchMask::MOVE_SELF
        | WatchMask::ONLYDIR;
    inotify.watches().add(dir, mask)?;
    inotify.into_event_stream([0; 1024])
}

fn identity(dir: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(dir).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
