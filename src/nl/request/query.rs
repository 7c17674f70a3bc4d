//! Listing objects and looking them up.

use std::{fmt, marker::PhantomData, vec};

use crate::nl::{
    error::{Error, RequestName, Result},
    handle::Handle,
    packet::{NldevAttribute, NldevCommand, NldevMessage},
    reply::Replies,
    view::{Entry, Missing, RawResource, Resource},
};

/// Empty tables in a row before a list is given up. The kernel sends none at all for an empty list.
const EMPTY_TABLES: u32 = 16;

type Parse<T> = fn(Entry) -> std::result::Result<T, Missing>;

/// Turns the messages of a list into objects.
pub(super) struct Table<T> {
    table: u16,
    entry: u16,
    parse: Parse<T>,
    request: RequestName,
    empty: u32,
}

impl<T> Table<T> {
    pub(super) fn new(message: &NldevMessage, table: u16, entry: u16, parse: Parse<T>) -> Self {
        Self { table, entry, parse, request: RequestName::new(message, true), empty: 0 }
    }

    fn missing(&self, missing: Missing) -> Error {
        Error::MissingAttribute { request: self.request.clone(), attribute: missing.attribute }
    }

    fn read(&mut self, message: NldevMessage) -> Result<vec::IntoIter<Entry>> {
        let entries = Entry::list(message.attributes, self.table, self.entry)
            .map_err(|missing| self.missing(missing))?;
        self.empty = if entries.is_empty() { self.empty + 1 } else { 0 };
        if self.empty >= EMPTY_TABLES {
            return Err(Error::NoProgress { request: self.request.clone() });
        }
        Ok(entries.into_iter())
    }

    fn view(&self, entry: Entry) -> Result<T> {
        (self.parse)(entry).map_err(|missing| self.missing(missing))
    }

    /// The whole list, of what `keep` says yes to.
    pub(super) async fn list(
        mut self,
        handle: &Handle,
        message: NldevMessage,
        mut keep: impl FnMut(&T) -> bool,
    ) -> Result<Vec<T>> {
        let mut objects = Vec::new();
        let take = |message| {
            for entry in self.read(message)? {
                let device = entry.device_name.clone();
                match self.view(entry) {
                    Ok(object) if keep(&object) => objects.push(object),
                    Ok(_) => {}
                    // One object does not spoil the others; no kernel has sent such a thing yet.
                    Err(error) => tracing::warn!(%device, %error, "left out of a list"),
                }
            }
            Ok(())
        };
        match handle.dump_with(message, take).await {
            Ok(()) => Ok(objects),
            Err(error) => Err(give_up(handle, error)),
        }
    }
}

/// A list without end keeps the socket busy for ever.
fn give_up(handle: &Handle, error: Error) -> Error {
    if matches!(error, Error::NoProgress { .. }) {
        handle.shared().stop();
    }
    error
}

/// The objects of a list, one by one: only a few datagrams of 32 KiB are held, however long the list and however slow
/// the reader.
///
/// A socket and a thread of its own serve it (see [`BlockingSocket`](crate::nl::BlockingSocket)), so that nothing else
/// waits behind it.
pub struct Listing<T> {
    replies: Replies,
    entries: vec::IntoIter<Entry>,
    table: Table<T>,
}

impl<T> Listing<T> {
    fn new(handle: &Handle, message: NldevMessage, table: Table<T>) -> Self {
        let replies = Replies::of_own_socket(handle.clone(), message);
        Self { replies, entries: Vec::new().into_iter(), table }
    }

    /// The next object; `None` after the last one of a complete list.
    ///
    /// # Errors
    /// See [`Replies::next`]; the handle's timeout is for one call, not for the list. [`Error::Send`] if there is no
    /// socket or thread. Nothing comes after an error of the list. An object that lacks what its view must have is
    /// an [`Error::MissingAttribute`] of its own, and the list goes on.
    pub async fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(entry) = self.entries.next() {
                return Some(self.table.view(entry));
            }
            match self.replies.next().await?.and_then(|message| self.table.read(message)) {
                Ok(entries) => self.entries = entries,
                Err(error) => {
                    self.replies.end();
                    return Some(Err(error));
                }
            }
        }
    }
}

impl<T> fmt::Debug for Listing<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listing").field("request", &self.table.request).finish_non_exhaustive()
    }
}

/// Which objects of a device are wanted.
#[derive(Debug, Clone)]
struct Scope {
    handle: Handle,
    device: u32,
    port: Option<u32>,
    details: bool,
}

impl Scope {
    fn list_message(&self, command: NldevCommand) -> NldevMessage {
        let mut attributes = vec![NldevAttribute::DevIndex(self.device)];
        attributes.extend(self.port.map(NldevAttribute::PortIndex));
        // Kernels before 6.10 do not know the attribute: it is sent only when wanted.
        attributes.extend(self.details.then_some(NldevAttribute::DriverDetails(1)));
        NldevMessage::new(command, attributes)
    }

    fn one_message<R: Resource>(&self, command: NldevCommand, id: u32) -> Result<NldevMessage> {
        let mut attributes = vec![NldevAttribute::DevIndex(self.device)];
        attributes.extend(self.port.map(NldevAttribute::PortIndex));
        attributes.push(R::id(id));
        let message = NldevMessage::new(command, attributes);
        let reason = match (R::PER_PORT, self.port) {
            (true, None) => "an object of a port is looked up with its port",
            (false, Some(_)) => "an object of a device is looked up without a port",
            _ => return Ok(message),
        };
        Err(Error::InvalidRequest { request: RequestName::new(&message, false), reason })
    }

    async fn one<T>(&self, message: NldevMessage, parse: Parse<T>) -> Result<T> {
        let request = RequestName::new(&message, false);
        let Some(reply) = self.handle.doit(message).await? else { return Err(Error::NoReply { request }) };
        Entry::single(reply.attributes)
            .and_then(parse)
            .map_err(|missing| Error::MissingAttribute { request, attribute: missing.attribute })
    }
}

/// Objects of one kind on one device. Made by [`ResourceHandle`](super::ResourceHandle).
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is sent"]
pub struct Query<R> {
    scope: Scope,
    kind: PhantomData<fn() -> R>,
}

impl<R: Resource> Query<R> {
    pub(super) fn new(handle: Handle, device: u32) -> Self {
        Self { scope: Scope { handle, device, port: None, details: false }, kind: PhantomData }
    }

    /// Only objects of this port. Necessary to look up a QP or CM id.
    pub fn port(mut self, port: u32) -> Self {
        self.scope.port = Some(port);
        self
    }

    /// Lists also objects that only the driver made, with all it says of them. Since 6.10.
    pub fn driver_details(mut self) -> Self {
        self.scope.details = true;
        self
    }

    fn table(&self, message: &NldevMessage) -> Table<R> {
        Table::new(message, R::TABLE, R::ENTRY, R::from_entry)
    }

    /// All of them.
    ///
    /// # Errors
    /// EINVAL if there is no such device or port; what the driver says of an object it cannot describe, which ends
    /// the list.
    ///
    /// An object that lacks what its view must have, such as the number of a QP, is left out and logged;
    /// [`stream`](Self::stream) tells of it.
    pub async fn list(self) -> Result<Vec<R>> {
        self.matching(|_| true).await
    }

    /// Those that `keep` says yes to. The kernel sends all; only these are held.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn matching(self, keep: impl FnMut(&R) -> bool) -> Result<Vec<R>> {
        let message = self.scope.list_message(R::COMMAND);
        self.table(&message).list(&self.scope.handle, message, keep).await
    }

    /// All of them, one by one, read from the kernel as they are asked for: the list is not a moment's, and objects come
    /// and go while it is read.
    pub fn stream(self) -> Listing<R> {
        let message = self.scope.list_message(R::COMMAND);
        let table = self.table(&message);
        Listing::new(&self.scope.handle, message, table)
    }

    /// The one with this id; for a QP see [`QueuePair::id`](crate::nl::QueuePair::id).
    ///
    /// # Errors
    /// ENOENT if there is none, EAGAIN if it is on another port, EINVAL if there is no such device or port;
    /// [`Error::InvalidRequest`] if its kind needs a port, or takes none.
    pub async fn get(self, id: u32) -> Result<R> {
        let message = self.scope.one_message::<R>(R::COMMAND, id)?;
        self.scope.one(message, R::from_entry).await
    }

    /// The same objects as the driver describes them; `None` for kinds that have no such form.
    pub fn raw(self) -> Option<RawQuery<R>> {
        R::RAW_COMMAND.map(|command| RawQuery { scope: self.scope, command, kind: PhantomData })
    }
}

/// Objects as their driver describes them. Needs CAP_NET_ADMIN in the initial user namespace.
#[derive(Debug, Clone)]
#[must_use = "a query does nothing until it is sent"]
pub struct RawQuery<R> {
    scope: Scope,
    command: NldevCommand,
    kind: PhantomData<fn() -> R>,
}

impl<R: Resource> RawQuery<R> {
    /// All of them.
    ///
    /// # Errors
    /// EINVAL if there is no such device, or there are objects and the driver has no such form; EPERM.
    pub async fn list(self) -> Result<Vec<RawResource>> {
        let message = self.scope.list_message(self.command);
        let table = Table::new(&message, R::TABLE, R::ENTRY, RawResource::from_entry);
        table.list(&self.scope.handle, message, |_| true).await
    }

    /// The one with this id.
    ///
    /// # Errors
    /// As [`Query::get`]; EINVAL if the driver has no such form, EPERM.
    pub async fn get(self, id: u32) -> Result<RawResource> {
        let message = self.scope.one_message::<R>(self.command, id)?;
        self.scope.one(message, RawResource::from_entry).await
    }
}
