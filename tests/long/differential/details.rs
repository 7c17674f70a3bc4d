//! Driver details in requests.

use rdma_operator::nl::packet::number::RDMA_NLDEV_ATTR_DRIVER_DETAILS;

use super::wire::{Body, Datagram};

/// What was recorded for a request with driver details or without stands for both.
pub(super) fn with_details(datagrams: &[Datagram]) -> Vec<String> {
    let mut lines = Vec::new();
    for exchange in datagrams.chunk_by(|_, next| !next.sent) {
        let Some((request, replies)) = exchange.split_first() else { continue };
        let Some(Body::Attributes(list)) = request.messages.first().map(|message| &message.body) else {
            continue;
        };
        let has_details = list.iter().any(|attribute| attribute.number() == RDMA_NLDEV_ATTR_DRIVER_DETAILS);
        let choices = if has_details && request.sent { vec![0, 1] } else { vec![0] };
        for choice in choices {
            let mut line = request.line();
            if has_details {
                let mut request = Datagram::parse(&line).unwrap();
                if let Body::Attributes(list) = &mut request.messages[0].body {
                    list.iter_mut()
                        .filter(|attribute| attribute.number() == RDMA_NLDEV_ATTR_DRIVER_DETAILS)
                        .for_each(|attribute| attribute.set(&[choice]));
                }
                line = request.line();
            }
            lines.push(line);
            lines.extend(replies.iter().map(Datagram::line));
        }
    }
    lines
}
