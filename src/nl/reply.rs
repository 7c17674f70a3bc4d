//! Waiting for the answer to a request.
//!
//! netlink-proto matches replies by sequence number and hands them on; what they mean for the request, and when
//! to stop waiting, is decided here.

use std::{num::NonZeroI32, pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, StreamExt};
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use tokio::{sync::watch, time::Instant};

use super::{
    connection::Shared,
    error::{Error, RequestName, Result},
    ext_ack,
    packet::{NldevMessage, RdmaMessage},
};

type Messages = Pin<Box<dyn Stream<Item = NetlinkMessage<RdmaMessage>> + Send>>;

/// The replies to one request, until the message that ends them.
pub struct Replies {
    messages: Messages,
    overruns: watch::Receiver<u64>,
    request: RequestName,
    timeout: Duration,
    deadline: Instant,
    ended: bool,
    // Keeps the sender of `overruns` alive.
    _shared: Arc<Shared>,
}

/// What one message means for the request.
enum Step {
    Data(NldevMessage),
    End,
    Skip,
    Fail(Error),
}

impl Replies {
    pub(super) fn new(
        messages: Messages,
        overruns: watch::Receiver<u64>,
        request: RequestName,
        timeout: Duration,
        shared: Arc<Shared>,
    ) -> Self {
        let deadline = Instant::now() + timeout;
        Self { messages, overruns, request, timeout, deadline, ended: false, _shared: shared }
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
        while !self.ended {
            let step = tokio::select! {
                // What has arrived counts before what went wrong.
                biased;
                message = self.messages.next() => match message {
                    Some(message) => step(&self.request, message),
                    None => Step::Fail(Error::ConnectionClosed { request: self.request.clone() }),
                },
                _ = self.overruns.changed() => Step::Fail(Error::Overrun { request: self.request.clone() }),
                () = tokio::time::sleep_until(self.deadline) => Step::Fail(Error::Deadline {
                    request: self.request.clone(),
                    after: self.timeout,
                }),
            };
            match step {
                Step::Data(message) => return Some(Ok(message)),
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

fn os_error(code: i32) -> std::io::Error {
    std::io::Error::from_raw_os_error(code.saturating_abs())
}
