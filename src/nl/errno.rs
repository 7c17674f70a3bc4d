//! The Linux error numbers this protocol gives a meaning to (`asm-generic/errno*.h`).

/// Operation not permitted.
pub const EPERM: i32 = 1;
/// No such object (id of a resource).
pub const ENOENT: i32 = 2;
/// The port does not match the object.
pub const EAGAIN: i32 = 11;
/// Out of memory; from siw: the network device has no parent it can use.
pub const ENOMEM: i32 = 12;
/// Permission denied.
pub const EACCES: i32 = 13;
/// Another dump runs on the socket, or the mode cannot change now.
pub const EBUSY: i32 = 16;
/// A link of that type on that network device, or a device of that name (rename).
pub const EEXIST: i32 = 17;
/// The network device does not exist, or went away.
pub const ENODEV: i32 = 19;
/// Almost everything that is wrong with a request: also an unknown device index and an unknown command.
pub const EINVAL: i32 = 22;
/// The name is taken (new link).
pub const ENFILE: i32 = 23;
/// The reply does not fit.
pub const EMSGSIZE: i32 = 90;
/// The kernel has no NETLINK_RDMA: ib_core is not there.
pub const EPROTONOSUPPORT: i32 = 93;
/// The driver or kernel cannot do that.
pub const EOPNOTSUPP: i32 = 95;
/// No netlink at all.
pub const EAFNOSUPPORT: i32 = 97;
/// Messages were lost.
pub const ENOBUFS: i32 = 105;
