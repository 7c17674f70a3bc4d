//! Requests, by what they are about.

mod chardev;
mod device;
mod link;
mod port;
mod resource;
mod system;

pub use chardev::ChardevHandle;
pub use device::DeviceHandle;
pub use link::{LinkHandle, LinkKind};
pub use port::PortHandle;
pub use resource::ResourceHandle;
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
