//! What differs between kernel releases, each line with its fact.

use crate::inventory::movable::{Series, series};
use crate::nl::packet::NldevCommand;

/// The release a simulated kernel behaves as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Release(Series);

impl Release {
    /// Of `uname -r`; a text that is none behaves as the newest known.
    pub(super) fn of(text: &str) -> Self {
        Self(series(text).unwrap_or(Series(7, 3)))
    }

    fn since(self, major: u32, minor: u32) -> bool {
        self.0 >= Series(major, minor)
    }

    /// `nldev_cb_table`: an op that the table does not have is EINVAL.
    pub(super) fn knows(self, command: NldevCommand) -> bool {
        use NldevCommand as C;
        match command {
            C::Get | C::PortGet | C::ResGet | C::ResQpGet => true,
            C::ResCmIdGet | C::ResCqGet | C::ResMrGet | C::ResPdGet => self.since(4, 17),
            C::Set => self.since(4, 20),
            C::NewLink | C::DelLink => self.since(5, 1),
            C::SysGet | C::SysSet => self.since(5, 2),
            C::GetChardev | C::StatSet | C::StatGet | C::StatDel => self.since(5, 3),
            C::ResQpGetRaw | C::ResCqGetRaw | C::ResMrGetRaw => self.since(5, 9),
            C::ResCtxGet | C::ResSrqGet => self.since(5, 13),
            C::StatGetStatus => self.since(5, 16),
            C::ResSrqGetRaw => self.since(6, 7),
            C::NewDev | C::DelDev => self.since(6, 11),
            C::FrmrPoolsGet | C::FrmrPoolsSet => self.since(7, 1),
            _ => false,
        }
    }

    /// `RDMA_NLDEV_ATTR_MAX - 1`: later attributes are unknown.
    pub(super) fn last_attribute(self) -> u16 {
        const LAST: [(u32, u32, u16); 12] = [
            (7, 3, 118),
            (7, 1, 117),
            (6, 15, 104),
            (6, 12, 103),
            (6, 11, 101),
            (6, 10, 98),
            (6, 7, 96),
            (5, 16, 95),
            (5, 13, 93),
            (5, 9, 85),
            (5, 3, 84),
            (5, 2, 68),
        ];
        let last = LAST.iter().find(|(major, minor, _)| self.since(*major, *minor));
        last.map_or(if self.since(5, 1) { 65 } else { 59 }, |(_, _, number)| *number)
    }

    /// The request is parsed strictly. In 6.12 whatever changes something is and whatever reads is not; in 6.1 that is
    /// by the age of the command.
    pub(super) fn is_strict(self, command: NldevCommand) -> bool {
        use NldevCommand as C;
        match command {
            C::StatSet | C::StatDel | C::SysSet | C::NewDev | C::DelDev | C::FrmrPoolsSet => true,
            C::Set | C::NewLink | C::DelLink => self.since(6, 12),
            C::GetChardev | C::SysGet | C::StatGet | C::StatGetStatus => !self.since(6, 12),
            _ => false,
        }
    }

    /// A name is taken when a device of any namespace has it, in exclusive mode too.
    pub(super) fn has_names_of_all_namespaces(self) -> bool {
        !self.since(7, 3)
    }

    /// `STAT_OPCOUNTER_ENABLED`
    pub(super) fn binds_optional_counters(self) -> bool {
        self.since(6, 15)
    }

    /// `DEV_PROTOCOL` in the reply to GET.
    pub(super) fn has_protocol(self) -> bool {
        self.since(5, 0)
    }

    /// `DEV_DIM` in the reply to GET.
    pub(super) fn has_dim(self) -> bool {
        self.since(5, 3)
    }

    /// `NAME_ASSIGN_TYPE`, `DEV_TYPE` and `PARENT_NAME` in the reply to GET.
    pub(super) fn has_name_assign_type(self) -> bool {
        self.since(6, 11)
    }

    /// `COPY_ON_FORK` in the reply to SYS_GET.
    pub(super) fn has_copy_on_fork(self) -> bool {
        self.since(5, 13)
    }

    /// `PRIVILEGED_QKEY_MODE` in SYS_GET and SYS_SET.
    pub(super) fn has_privileged_qkey(self) -> bool {
        self.since(6, 7)
    }

    /// Notifications, and `MONITOR_MODE` in SYS_GET.
    pub(super) fn has_events(self) -> bool {
        self.since(6, 12)
    }

    /// RENAME and NETDEV_RENAME among them.
    pub(super) fn has_rename_events(self) -> bool {
        self.since(6, 13)
    }

    /// rxe has `disassociate_ucontext`: it can change its namespace, and DELLINK takes it from its users. siw has
    /// not on any release.
    pub(super) fn rxe_disassociates(self) -> bool {
        self.since(7, 3)
    }

    /// Errors of SET NET_NS_FD have a text.
    pub(super) fn explains_netns(self) -> bool {
        self.since(7, 3)
    }

    /// NET_NS_FD goes before DEV_NAME; before, a request with both renames and does not move.
    pub(super) fn moves_before_renaming(self) -> bool {
        self.since(7, 3)
    }

    /// rxe answers MADs, and so has `ports/1/counters`.
    pub(super) fn rxe_has_counters(self) -> bool {
        self.since(7, 2)
    }

    /// `RES_SUMMARY_ENTRY_MAX`
    pub(super) fn tells_most(self) -> bool {
        self.since(7, 3)
    }

    /// `RES_SUMMARY` names comp_cntr.
    pub(super) fn counts_completion_counters(self) -> bool {
        self.since(7, 3)
    }
}
