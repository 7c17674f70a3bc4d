//! Waiting for the answer to a request.
//!
//! netlink-proto matches replies by sequence number and hands them on; what they mean for the request, and when
//! to stop waiting, is decided here.

use std::{io, num::NonZeroI32, pin::Pin, time::Duration};

use futures::{Stream, StreamExt};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use tokio::{sync::watch, time::Instant};

use super::{
    errno,
    error::{Error, RequestName, Result},
    ext_ack,
    handle::{Ask, Handle},
    own_socket::OwnSocket,
    packet::{NldevMessage, RdmaMessage},
};

pub(super) type Message = NetlinkMessage<RdmaMessage>;
pub(super) type Messages = Pin<Box<dyn Stream<Item = io::Result<Message>> + Send>>;

/// Wait before a list is asked for again when the socket is busy with another one; doubled up to the second.
const BUSY_WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The replies to one request, until the message that ends them.
pub struct Replies {
    handle: Handle,
    messages: Messages,
    // Subscribed before the request was sent: an overrun from then on may have hit the answer.
    overruns: watch::Receiver<u64>,
    request: RequestName,
    /// When to give up; `None`: the handle's timeout after each call for the next message, as it is the reader who
    /// decides how long the answer takes.
    deadline: Option<Instant>,
    /// The first message is all.
    one: bool,
    ended: bool,
    /// The request, as long as it may have to be sent again, and how long to wait before that.
    again: Option<(NldevMessage, Duration)>,
}

/// What one message means for the request.
enum Step {
    Data(NldevMessage),
    End,
    Skip,
    Fail(Error),
}

impl Replies {
    pub(super) fn new(handle: Handle, message: NldevMessage, ask: Ask, deadline: Instant) -> Self {
        let dump = ask == Ask::List;
        let request = RequestName::new(&message, dump);
        let overruns = handle.shared().overruns();
        let again = dump.then(|| (message.clone(), BUSY_WAIT.0));
        let messages = handle.submit(message, ask);
        let (deadline, one) = (Some(deadline), ask == Ask::Object);
        Self { handle, messages, overruns, request, deadline, one, ended: false, again }
    }

    /// A list over a socket of its own, read no faster than it is asked for.
    pub(super) fn of_own_socket(handle: Handle, message: NldevMessage) -> Self {
        let request = RequestName::new(&message, true);
        let overruns = handle.shared().overruns();
        let messages: Messages = if handle.is_closed() {
            Box::pin(futures::stream::empty())
        } else {
            match OwnSocket::list(handle.shared().blocking.open(), message) {
                Ok(list) => Box::pin(list),
                Err(error) => Box::pin(futures::stream::iter([Err(error)])),
            }
        };
        Self { handle, messages, overruns, request, deadline: None, one: false, ended: false, again: None }
    }

    /// The request these replies belong to.
    pub fn request(&self) -> &RequestName {
        &self.request
    }

    /// The next message; `None` after the last one of a complete answer. After an error nothing more comes.
    ///
    /// # Errors
    /// Whatever [`Error`] says of a request: refused, broken off, incomplete, undecodable, late, overrun, closed.
    pub async fn next(&mut self) -> Option<Result<NldevMessage>> {
        let deadline = self.deadline.unwrap_or_else(|| Instant::now() + self.handle.timeout());
        while !self.ended {
            let step = tokio::select! {
                // What has arrived counts before what went wrong.
                biased;
                message = self.messages.next() => match message {
                    Some(Ok(message)) => step(&self.request, message),
                    Some(Err(source)) => Step::Fail(failed(self.request.clone(), source)),
                    None if self.deadline.is_none() && !self.handle.is_closed() => {
                        Step::Fail(Error::Incomplete { request: self.request.clone() })
                    }
                    None => Step::Fail(Error::ConnectionClosed { request: self.request.clone() }),
                },
                _ = self.overruns.changed(), if self.deadline.is_some() => Step::Fail(Error::Overrun { request: self.request.clone() }),
                () = tokio::time::sleep_until(deadline) => Step::Fail(Error::Deadline {
                    request: self.request.clone(),
                    after: self.handle.timeout(),
                }),
            };
            match step {
                Step::Data(message) => {
                    self.again = None;
                    self.ended = self.one;
                    return Some(Ok(message));
                }
                // A socket runs one list at a time, and another one runs.
                Step::Fail(error) if error.errno() == Some(errno::EBUSY) && self.again.is_some() => {
                    self.send_again(deadline).await;
                }
                Step::Skip => {}
                Step::End => self.ended = true,
                Step::Fail(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    /// Nothing more is wanted.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    async fn send_again(&mut self, deadline: Instant) {
        if let Some((message, wait)) = self.again.take() {
            tokio::time::sleep_until(deadline.min(Instant::now() + wait)).await;
            self.messages = self.handle.submit(message.clone(), Ask::List);
            self.again = Some((message, (wait * 2).min(BUSY_WAIT.1)));
        }
    }

    /// All messages of the answer.
    ///
    /// # Errors
    /// As [`next`](Self::next); messages that came before the error are dropped.
    pub async fn collect(mut self) -> Result<Vec<NldevMessage>> {
        let mut messages = Vec::new();
        while let Some(message) = self.next().await {
            messages.push(message?);
        }
        Ok(messages)
    }
}

impl std::fmt::Debug for Replies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replies").field("request", &self.request).finish_non_exhaustive()
    }
}

fn step(request: &RequestName, message: NetlinkMessage<RdmaMessage>) -> Step {
    let request = || request.clone();
    let (header, payload) = message.into_parts();
    match payload {
        // The kernel answers PORT_GET as GET and STAT_DEL as STAT_SET: the command proves nothing.
        NetlinkPayload::InnerMessage(RdmaMessage::Nldev(message)) => Step::Data(message),
        NetlinkPayload::InnerMessage(RdmaMessage::Other(_)) => {
            Step::Fail(Error::Undecodable { request: request(), message_type: header.message_type })
        }
        NetlinkPayload::Error(error) => match error.code {
            Some(code) => Step::Fail(Error::Kernel {
                request: request(),
                ext_ack: ext_ack::of_error(header.flags, &error.header),
                source: os_error(code.get()),
            }),
            None if request().dump => Step::Fail(Error::Incomplete { request: request() }),
            None => Step::End,
        },
        NetlinkPayload::Done(done) => match NonZeroI32::new(done.code).filter(|code| code.get() < 0) {
            Some(code) => Step::Fail(Error::DumpFailed {
                request: request(),
                code: code.get(),
                ext_ack: ext_ack::of_done(header.flags, &done.extended_ack),
                source: os_error(code.get()),
            }),
            None => Step::End,
        },
        NetlinkPayload::Overrun(_) => Step::Fail(Error::Overrun { request: request() }),
        _ => Step::Skip,
    }
}

/// A socket of a request's own failed.
fn failed(request: RequestName, source: io::Error) -> Error {
    match source.raw_os_error() {
        Some(errno::ENOBUFS) => Error::Overrun { request },
        _ => Error::Send { request, source },
    }
}

fn os_error(code: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(code.saturating_abs())
}
