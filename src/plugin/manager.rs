//! Starts a worker per resource as resources come and lets them end as they go.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::watch;
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

use super::directory::{self, Directory};
use super::endpoint;
use super::memory::Memory;
use super::nodes::NodeResolver;
use super::settings::Settings;
use super::status::{Board, PluginStatus};
use super::worker::Worker;
use crate::inventory::Inventory;
use crate::pool::{self, Grace, Resource, Resources};

/// Offers the host's devices to the kubelet until `shutdown`.
///
/// Nothing is served or registered while `inventory` is `None`: the first list that the kubelet sees is whole.
/// Nothing that goes wrong ends this: it is told in `status` and tried again.
pub async fn run(
    settings: Settings,
    mut inventory: watch::Receiver<Option<Arc<Inventory>>>,
    resolver: Arc<dyn NodeResolver>,
    status: watch::Sender<PluginStatus>,
    shutdown: CancellationToken,
) {
    let (first, watcher) = directory::first_look(&settings.dir);
    if let Some(trouble) = &first.trouble {
        tracing::warn!(reason = trouble.reason, "{}", trouble.message);
    }
    // Whatever ends this, dropping it included, ends all that it started.
    let shutdown = shutdown.child_token();
    let _ends = shutdown.clone().drop_guard();
    let (state, directory) = watch::channel(first);
    let watching = tokio::spawn(watcher.run(state, settings.timing.clone(), shutdown.clone()));
    let mut manager = Manager {
        grace: None,
        settings: Arc::new(settings),
        resolver,
        directory,
        board: Board::new(status),
        shutdown: shutdown.clone(),
        offered: Resources::default(),
        lists: HashMap::new(),
        given: HashMap::new(),
        running: HashMap::new(),
        workers: JoinSet::new(),
    };

    let mut live = true;
    loop {
        let current = inventory.borrow_and_update().clone();
        if let Some(current) = current {
            manager.offer(&current).await;
        }
        let next_drop = manager.grace.as_ref().and_then(Grace::deadline);
        tokio::select! {
            () = shutdown.cancelled() => break,
            changed = inventory.changed(), if live => live = changed.is_ok(),
            () = until(next_drop) => {}
            Some(ended) = manager.workers.join_next_with_id() => {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                manager.ended(id);
            }
        }
    }
    while manager.workers.join_next().await.is_some() {}
    let _ = watching.await;
}

struct Manager {
    settings: Arc<Settings>,
    resolver: Arc<dyn NodeResolver>,
    directory: watch::Receiver<Directory>,
    board: Board,
    shutdown: CancellationToken,
    /// `None` until the first enumeration.
    grace: Option<Grace>,
    offered: Resources,
    /// What each running worker shows.
    lists: HashMap<String, watch::Sender<Arc<Resource>>>,
    /// Kept when a resource goes: containers outlive it.
    given: HashMap<String, Arc<Mutex<Memory>>>,
    running: HashMap<Id, String>,
    workers: JoinSet<()>,
}

impl Manager {
    async fn offer(&mut self, inventory: &Inventory) {
        let found = pool::resources(inventory, &self.settings.pool);
        let now = Instant::now();
        let first = self.grace.is_none();
        let (period, known) = (self.settings.timing.grace, &self.settings.known);
        let grace = self.grace.get_or_insert_with(|| Grace::new(period, known, now));
        self.offered = grace.apply(found, now);
        if first {
            let dir = &self.settings.dir;
            let names = self.offered.resources.iter();
            let keep: BTreeSet<String> =
                names.filter_map(|resource| endpoint::socket_name(dir, &resource.name).ok()).collect();
            endpoint::sweep(dir, &keep).await;
        }
        self.board.offer(&self.offered);
        self.apply();
    }

    fn apply(&mut self) {
        for resource in self.offered.resources.clone() {
            match self.lists.get(&resource.name) {
                Some(list) => show(list, resource),
                None => self.start(resource),
            }
        }
        for (name, list) in &self.lists {
            if self.offered.resources.iter().all(|resource| resource.name != *name) {
                // The kubelet keeps what it last heard; an empty list takes the capacity back.
                show(list, Resource { name: name.clone(), devices: Vec::new() });
            }
        }
    }

    fn start(&mut self, resource: Resource) {
        let name = resource.name.clone();
        let (list, receiver) = watch::channel(Arc::new(resource));
        let worker = Worker {
            resource: name.clone(),
            settings: self.settings.clone(),
            list: receiver,
            resolver: self.resolver.clone(),
            given: self.memory(&name),
            directory: self.directory.clone(),
            board: self.board.clone(),
            stop: self.shutdown.child_token(),
        };
        let id = self.workers.spawn(worker.run()).id();
        self.running.insert(id, name.clone());
        self.lists.insert(name, list);
    }

    fn memory(&mut self, resource: &str) -> Arc<Mutex<Memory>> {
        let file = self.settings.state.as_ref().map(|folder| {
            // A resource name has one slash, and no underscore in its domain.
            let name = resource.replace('/', "_");
            folder.join(format!("{name}.json"))
        });
        let memory = self.given.entry(resource.to_owned());
        memory.or_insert_with(|| Arc::new(Mutex::new(Memory::open(file)))).clone()
    }

    /// A worker has ended. When its resource is wanted again by now, a new one starts: two never share a socket.
    fn ended(&mut self, id: Id) {
        if let Some(name) = self.running.remove(&id) {
            self.lists.remove(&name);
            self.board.remove(&name);
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant.into()).await,
        None => std::future::pending().await,
    }
}

fn show(list: &watch::Sender<Arc<Resource>>, resource: Resource) {
    list.send_if_modified(|current| {
        let changed = **current != resource;
        if changed {
            *current = Arc::new(resource);
        }
        changed
    });
}
