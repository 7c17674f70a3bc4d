//! The life of one resource: serve, dial ourselves, register, watch over it, and again.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::KUBELET_SOCKET;
use super::backoff::Backoff;
use super::directory::Directory;
use super::endpoint::Serving;
use super::error::{Trouble, reason};
use super::memory::Memory;
use super::nodes::{DevRoot, NodeResolver};
use super::registration;
use super::server::Service;
use super::settings::Settings;
use super::status::Board;
use crate::pool::Resource;

/// Everything that one resource needs.
pub(crate) struct Worker {
    pub(crate) resource: String,
    pub(crate) settings: Arc<Settings>,
    pub(crate) list: watch::Receiver<Arc<Resource>>,
    pub(crate) resolver: Arc<dyn NodeResolver>,
    pub(crate) given: Arc<Mutex<Memory>>,
    pub(crate) directory: watch::Receiver<Directory>,
    pub(crate) board: Board,
    pub(crate) stop: CancellationToken,
}

/// What is to be done next.
enum Next {
    /// The server is gone or out of place: make it anew.
    Serve,
    /// The server stands, the kubelet has to hear of it again.
    Register,
}

impl Worker {
    /// Runs until the token is cancelled or the resource has had no devices for a while.
    pub(crate) async fn run(mut self) {
        let end = finished(self.stop.clone(), self.list.clone(), self.settings.timing.linger);
        let mut serving = None;
        tokio::select! {
            biased;
            () = end => {}
            () = self.work(&mut serving) => {}
        }
        stop(&mut serving).await;
        if !self.stop.is_cancelled() {
            // The resource may return at once, under a new worker.
            sleep(self.settings.timing.settle).await;
        }
    }

    /// Never returns: [`Worker::run`] drops it. `slot` holds the server so that it can be ended in order.
    async fn work(&mut self, slot: &mut Option<Serving>) {
        let timing = &self.settings.timing;
        let mut backoff = Backoff::new(&self.resource, timing.retry_min, timing.retry_max);
        loop {
            let (streams, mut open) = watch::channel(0);
            match Serving::start(&self.settings.dir, &self.resource, self.service(streams)).await {
                Ok(serving) => {
                    let serving = slot.insert(serving);
                    self.hold(serving, &mut open, &mut backoff).await;
                    self.board.restarted(&self.resource);
                    let was_read = *open.borrow() > 0;
                    stop(slot).await;
                    if was_read {
                        sleep(self.settings.timing.settle).await;
                    }
                }
                Err(error) => {
                    let path = error.taken().map(Path::to_owned);
                    self.tell(error.trouble());
                    self.pause(&mut backoff, || path.as_ref().is_some_and(|path| !path.exists())).await;
                }
            }
        }
    }

    fn service(&self, streams: watch::Sender<usize>) -> Service {
        Service {
            list: self.list.clone(),
            resolver: self.resolver.clone(),
            dev_root: DevRoot(self.settings.dev_root.clone()),
            given: self.given.clone(),
            streams: Arc::new(streams),
            call: self.settings.timing.call,
            stop: self.stop.child_token(),
        }
    }

    /// Keeps a server registered; returns when it has to be made anew.
    async fn hold(
        &mut self,
        serving: &mut Serving,
        open: &mut watch::Receiver<usize>,
        backoff: &mut Backoff,
    ) {
        let kubelet = self.settings.dir.join(KUBELET_SOCKET);
        let mut lost = 0;
        loop {
            let seen = self.directory.borrow_and_update().clone();
            if !serving.is_well() {
                return;
            }
            if let Some(trouble) = seen.trouble {
                self.tell(trouble);
                tokio::select! {
                    () = serving.ended() => return,
                    changed = self.directory.changed() => if changed.is_err() { return },
                }
                backoff.reset();
                continue;
            }
            if !unread(open, self.settings.timing.settle).await {
                return;
            }
            let (call, name) = (self.settings.timing.call, serving.name.clone());
            // The kubelet dials back before it answers, and for long: a socket that it has just removed, as it does when
            // it starts, is to be made again meanwhile.
            let outcome = tokio::select! {
                outcome = registration::register(&kubelet, &name, &self.resource, call) => outcome,
                () = out_of_place(&mut self.directory, serving, seen.generation) => continue,
            };
            match outcome {
                Err(error) => self.tell(error.trouble()),
                Ok(()) => {
                    self.board.registered(&self.resource);
                    let since = Instant::now();
                    match self.registered(serving, open, seen.generation).await {
                        Some(Next::Serve) => return,
                        Some(Next::Register) => {
                            backoff.reset();
                            lost = 0;
                            continue;
                        }
                        None => {}
                    }
                    // One that was read for long is no sign of a rival.
                    let timing = &self.settings.timing;
                    if since.elapsed() > timing.retry_max + 2 * timing.stream {
                        backoff.reset();
                        lost = 0;
                    }
                    lost += 1;
                    self.tell(not_read(lost));
                }
            }
            self.pause(backoff, || !serving.is_well()).await;
        }
    }

    /// Watches over a registration. `None` when the kubelet, the same one, has stopped reading our list.
    async fn registered(
        &mut self,
        serving: &mut Serving,
        open: &mut watch::Receiver<usize>,
        generation: u64,
    ) -> Option<Next> {
        let limit = self.settings.timing.stream;
        let mut unread = (*open.borrow_and_update() == 0).then(|| Instant::now() + limit);
        loop {
            tokio::select! {
                () = serving.ended() => return Some(Next::Serve),
                changed = self.directory.changed() => {
                    let seen = self.directory.borrow_and_update().clone();
                    if changed.is_err() || !serving.is_well() {
                        return Some(Next::Serve);
                    }
                    if seen.generation != generation || seen.trouble.is_some() {
                        return Some(Next::Register);
                    }
                }
                changed = open.changed() => {
                    if changed.is_err() {
                        return Some(Next::Serve);
                    }
                    unread = (*open.borrow_and_update() == 0).then(|| Instant::now() + limit);
                }
                () = wait(unread) => return None,
            }
        }
    }

    fn tell(&self, trouble: Trouble) {
        // What is wrong with the directory has been logged once, by its watcher.
        let told = self.directory.borrow().trouble.as_ref() == Some(&trouble);
        self.board.trouble(&self.resource, trouble, told);
    }

    /// Waits before the next attempt. A kubelet that comes or goes ends the wait, and so does `wake` after a change
    /// in the directory.
    async fn pause(&mut self, backoff: &mut Backoff, wake: impl Fn() -> bool) {
        let pause = sleep(backoff.next());
        tokio::pin!(pause);
        let before = self.directory.borrow_and_update().clone();
        loop {
            tokio::select! {
                () = &mut pause => return,
                changed = self.directory.changed() => {
                    if changed.is_err() {
                        // The watcher is gone: this ends by the stop token. Do not spin until then.
                        return pause.await;
                    }
                    let seen = self.directory.borrow_and_update().clone();
                    if seen.generation != before.generation {
                        return backoff.reset();
                    }
                    if seen.trouble != before.trouble || wake() {
                        return;
                    }
                }
            }
        }
    }
}

/// Returns when the server's socket is no longer where the kubelet looks for it, or another kubelet has come.
async fn out_of_place(directory: &mut watch::Receiver<Directory>, serving: &mut Serving, generation: u64) {
    while serving.is_well() {
        tokio::select! {
            () = serving.ended() => return,
            changed = directory.changed() => {
                if changed.is_err() || directory.borrow_and_update().generation != generation {
                    return;
                }
            }
        }
    }
}

/// Leaves the server in its slot until it is done: what drops this half-way can do it again.
async fn stop(slot: &mut Option<Serving>) {
    if let Some(serving) = slot {
        serving.stop().await;
    }
    *slot = None;
}

fn not_read(times: u32) -> Trouble {
    if times < 2 {
        let message = "the kubelet took the registration but does not read the device list".to_owned();
        return Trouble { reason: reason::LIST_NOT_READ, message };
    }
    Trouble {
        reason: reason::RESOURCE_NAME_CONFLICT,
        message: "the kubelet keeps dropping the device list without having restarted: another device plugin seems to \
                  register this resource name"
            .to_owned(),
    }
}

/// Waits for the list streams of an earlier registration to end; false when they do not.
async fn unread(open: &mut watch::Receiver<usize>, limit: Duration) -> bool {
    *open.borrow() == 0 || tokio::time::timeout(limit, open.wait_for(|count| *count == 0)).await.is_ok()
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Returns when the token is cancelled, or the list has been empty for `linger`.
async fn finished(stop: CancellationToken, mut list: watch::Receiver<Arc<Resource>>, linger: Duration) {
    let empty = async {
        loop {
            if list.wait_for(|resource| resource.devices.is_empty()).await.is_err() {
                return;
            }
            tokio::select! {
                () = sleep(linger) => return,
                _ = list.changed() => {}
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = empty => {}
    }
}
