//! Requests, by what they are about.

mod chardev;
mod device;
mod frmr;
mod link;
mod port;
mod query;
mod resource;
mod stats;
mod system;

pub use chardev::ChardevHandle;
pub use device::DeviceHandle;
pub use frmr::FrmrHandle;
pub use link::{LinkHandle, LinkKind};
pub use port::PortHandle;
pub use query::{Listing, Query, RawQuery};
pub use resource::ResourceHandle;
pub use stats::StatsHandle;
pub use system::SystemHandle;

use super::{
    error::{Error, RequestName, Result},
    packet::NldevMessage,
};

/// Makes sure that the kernel will take a text as it is: it cuts names that are too long, and stops at a NUL.
fn check_text(message: &NldevMessage, text: &str, max: usize) -> Result<()> {
    let reason = if text.is_empty() {
        "an empty name"
    } else if text.len() > max {
        "a name longer than the kernel keeps"
    } else if text.contains('\0') {
        "a name with a NUL"
    } else {
        return Ok(());
    };
    Err(Error::InvalidRequest { request: RequestName::new(message, false), reason })
}
