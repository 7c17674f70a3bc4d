//! What can keep a resource from being offered, and the words for it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a resource is offered or not: CamelCase words, for conditions and metric labels.
pub mod reason {
    /// The kubelet has taken the resource and reads its list.
    pub const REGISTERED: &str = "Registered";
    /// Not tried yet.
    pub const STARTING: &str = "Starting";
    /// The host has not been enumerated yet.
    pub const ENUMERATING: &str = "Enumerating";
    /// The host has nothing to offer.
    pub const NO_DEVICES: &str = "NoDevices";
    /// No `kubelet.sock` where it should be.
    pub const KUBELET_SOCKET_MISSING: &str = "KubeletSocketMissing";
    /// Nobody answers on `kubelet.sock`.
    pub const KUBELET_UNREACHABLE: &str = "KubeletUnreachable";
    /// The kubelet took the connection but did not answer the registration in time.
    pub const REGISTRATION_TIMEOUT: &str = "RegistrationTimeout";
    /// The kubelet answered with an error.
    pub const REGISTRATION_REJECTED: &str = "RegistrationRejected";
    /// The kubelet took the registration, then stopped reading the list.
    pub const LIST_NOT_READ: &str = "ListNotRead";
    /// Somebody else serves the resource.
    pub const RESOURCE_NAME_CONFLICT: &str = "ResourceNameConflict";
    /// The directory or a socket in it may not be used.
    pub const PERMISSION_DENIED: &str = "PermissionDenied";
    /// A socket cannot be made or does not answer.
    pub const SOCKET_FAILED: &str = "SocketFailed";
}

/// Why a resource could not be served or registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no device plugin directory.
    #[error("the device plugin directory {} does not exist: is it that of the kubelet?", dir.display())]
    DirectoryMissing {
        /// The directory.
        dir: PathBuf,
    },
    /// The kubelet has no socket there.
    #[error("there is no kubelet socket at {}: is the kubelet running, and is this its directory?", path.display())]
    KubeletSocketMissing {
        /// Where it should be.
        path: PathBuf,
    },
    /// A permission is missing.
    #[error("no permission to use {} as uid {uid}", path.display())]
    PermissionDenied {
        /// The file or directory.
        path: PathBuf,
        /// Who we are.
        uid: u32,
        /// EACCES, EPERM or EROFS.
        source: io::Error,
    },
    /// No name for the socket is short enough.
    #[error("the directory {} leaves no room for a socket name: a socket's path is at most 107 bytes", dir.display())]
    PathTooLong {
        /// The directory.
        dir: PathBuf,
    },
    /// Something that is no socket has the socket's name.
    #[error("{} is there but is no socket: not touching it", path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// A live server has the socket's name.
    #[error("another process serves {}: a second agent on this node?", path.display())]
    ForeignServer {
        /// The path.
        path: PathBuf,
    },
    /// The socket could not be looked at, removed or made.
    #[error("cannot make the socket {}", path.display())]
    Bind {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// What we serve does not answer us.
    #[error("our own server does not answer on {}", path.display())]
    SelfDial {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: CallError,
    },
    /// The kubelet does not answer.
    #[error("cannot reach the kubelet at {}", path.display())]
    KubeletUnreachable {
        /// Its socket.
        path: PathBuf,
        /// The cause.
        source: CallError,
    },
    /// The kubelet has the call but no answer.
    #[error("the kubelet at {} did not answer a registration in time", path.display())]
    RegistrationTimeout {
        /// Its socket.
        path: PathBuf,
    },
    /// The kubelet said no.
    #[error("the kubelet refused the registration: {text}")]
    RegistrationRejected {
        /// In its own words.
        text: String,
    },
}

/// Why a call got no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The path is no address, or nobody listens.
    #[error("cannot connect")]
    Connect(#[from] tonic::transport::Error),
    /// The call broke.
    #[error("the call failed")]
    Call(#[from] tonic::Status),
    /// It took too long.
    #[error("no answer in time")]
    Timeout(#[from] tokio::time::error::Elapsed),
}

impl Error {
    /// The word for it.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::DirectoryMissing { .. } | Self::KubeletSocketMissing { .. } => {
                reason::KUBELET_SOCKET_MISSING
            }
            Self::PermissionDenied { .. } => reason::PERMISSION_DENIED,
            Self::ForeignServer { .. } => reason::RESOURCE_NAME_CONFLICT,
            Self::KubeletUnreachable { .. } => reason::KUBELET_UNREACHABLE,
            Self::RegistrationTimeout { .. } => reason::REGISTRATION_TIMEOUT,
            Self::RegistrationRejected { .. } => reason::REGISTRATION_REJECTED,
            Self::PathTooLong { .. }
            | Self::NotASocket { .. }
            | Self::Bind { .. }
            | Self::SelfDial { .. } => reason::SOCKET_FAILED,
        }
    }

    /// The path that somebody else has, where that is what is wrong.
    pub(crate) fn taken(&self) -> Option<&Path> {
        match self {
            Self::ForeignServer { path } | Self::NotASocket { path } => Some(path),
            _ => None,
        }
    }

    /// An I/O error at `path` in `dir`, told apart by its cause.
    pub(crate) fn at(dir: &Path, path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            // What is missing a permission when a socket cannot be made is the directory.
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::PermissionDenied { path: dir.to_owned(), uid: uid(), source }
            }
            io::ErrorKind::NotFound if !dir.is_dir() => Self::DirectoryMissing { dir: dir.to_owned() },
            _ => Self::Bind { path, source },
        }
    }

    /// Reason and text, the causes included.
    pub(crate) fn trouble(&self) -> Trouble {
        Trouble { reason: self.reason(), message: chain(self) }
    }
}

/// An error as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// An error with its causes, none said twice.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}

/// The effective user id: the owner of our own process directory.
fn uid() -> u32 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").map_or(u32::MAX, |metadata| metadata.uid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b28_a_missing_permission_names_directory_and_user() {
        // EACCES, EPERM, EROFS
        for errno in [13, 1, 30] {
            let cause = io::Error::from_raw_os_error(errno);
            let expected = cause.to_string();
            let error = Error::at(Path::new("/d"), PathBuf::from("/d/x.sock"), cause);
            assert_eq!(error.reason(), reason::PERMISSION_DENIED);
            let text = error.trouble().message;
            assert!(text.contains("/d as uid ") && text.ends_with(&expected), "{text}");
        }
    }
}
