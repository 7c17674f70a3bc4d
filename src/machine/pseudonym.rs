//! Stable pseudonyms of addresses: one value has one replacement within a document, and what is derived from a MAC
//! (an EUI-64, a GUID, a GID, an IPv6 address) is derived from that MAC's replacement. Documentation values stay.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

/// 00:00:5e:00:53:00/40, for documentation.
const MAC_DOCUMENTATION: u64 = 0x0000_5e00_5300;
/// 02:00:5e:00:00:00/24, locally administered: when the 256 above do not suffice.
const MAC_PRIVATE: u64 = 0x0200_5e00_0000;
/// Interface identifiers and GUIDs that contain no MAC.
const OPAQUE: u64 = 0x0000_5e00_5300_0000;
/// fe80::/64
pub(super) const LINK_LOCAL: u64 = 0xfe80 << 48;

/// Which replacements have been given.
#[derive(Debug, Default)]
pub(super) struct Pseudonyms {
    macs: HashMap<u64, u64>,
    opaque: HashMap<u64, u64>,
    prefixes: HashMap<u64, u64>,
    networks: HashMap<u32, u32>,
    hosts: HashMap<u32, u32>,
    /// Documentation values that the document has: not to be given to another.
    used: HashSet<u128>,
    /// Only documentation values are looked at, and everything stays.
    pub(super) reserve: bool,
}

impl Pseudonyms {
    /// Whether a MAC has been met.
    pub(super) fn knows_mac(&self, mac: u64) -> bool {
        self.macs.contains_key(&mac)
    }

    /// Whether a GUID has been met, whole or as the MAC in it.
    pub(super) fn knows_guid(&self, guid: u64) -> bool {
        self.opaque.contains_key(&guid) || embedded(guid).is_some_and(|(mac, _)| self.knows_mac(mac))
    }

    /// The replacement of a MAC of 48 bits.
    pub(super) fn mac(&mut self, mac: u64) -> u64 {
        if let Some(known) = self.macs.get(&mac) {
            return *known;
        }
        if mac == 0
            || mac == 0xffff_ffff_ffff
            || mac >> 8 == MAC_DOCUMENTATION >> 8
            || mac >> 24 == MAC_PRIVATE >> 24
        {
            self.used.insert(mac.into());
            return mac;
        }
        if self.reserve {
            return mac;
        }
        let few = (0..=0xff).map(|last| MAC_DOCUMENTATION | last);
        let many = (0..=0xff_ffff).map(|last| MAC_PRIVATE | last);
        // 2^24 netdevs do not fit into a document.
        let free = few.chain(many).find(|mac| !self.used.contains(&(*mac).into())).unwrap_or(MAC_PRIVATE);
        self.used.insert(free.into());
        self.macs.insert(mac, free);
        free
    }

    /// The replacement of a GUID or an interface identifier.
    pub(super) fn guid(&mut self, guid: u64) -> u64 {
        if guid == 0 || guid == LINK_LOCAL {
            return guid;
        }
        if self.prefixes.contains_key(&guid) {
            return self.prefix(guid);
        }
        if let Some((mac, form)) = embedded(guid) {
            return form.embed(self.mac(mac));
        }
        if let Some(known) = self.opaque.get(&guid) {
            return *known;
        }
        if guid >> 24 == OPAQUE >> 24 {
            self.used.insert(u128::from(guid) << 64);
            return guid;
        }
        if self.reserve {
            return guid;
        }
        let candidates = (1..=0xff_ffff_u64).filter(|low| low & 0xffff != 0).map(|low| OPAQUE | low);
        let mut candidates = candidates.filter(|guid| !self.used.contains(&(u128::from(*guid) << 64)));
        let free = candidates.next().unwrap_or(OPAQUE);
        drop(candidates);
        self.used.insert(u128::from(free) << 64);
        self.opaque.insert(guid, free);
        free
    }

    /// The replacement of the first half of a GID or an IPv6 address.
    pub(super) fn prefix(&mut self, prefix: u64) -> u64 {
        if prefix == 0 || prefix == LINK_LOCAL {
            return prefix;
        }
        if let Some(known) = self.prefixes.get(&prefix) {
            return *known;
        }
        let key = |prefix: u64| u128::from(prefix) << 64 | 1;
        if documented(prefix) {
            self.used.insert(key(prefix));
            return prefix;
        }
        if self.reserve {
            return prefix;
        }
        // Unique local ones stay such.
        let base: u64 = if prefix >> 57 == 0xfc >> 1 { 0xfd00_0db8 } else { 0x2001_0db8 };
        let free = (1..=0xffff_ffff_u64)
            .map(|low| base << 32 | low)
            .find(|prefix| !self.used.contains(&key(*prefix)))
            .unwrap_or(base << 32);
        self.used.insert(key(free));
        self.prefixes.insert(prefix, free);
        free
    }

    /// The replacement of a GID or an IPv6 address.
    pub(super) fn ipv6(&mut self, address: Ipv6Addr) -> Ipv6Addr {
        if let Some(mapped) = address.to_ipv4_mapped() {
            return self.ipv4(mapped).to_ipv6_mapped();
        }
        if address.is_unspecified() || address.is_loopback() {
            return address;
        }
        let bits = address.to_bits();
        let high = u64::try_from(bits >> 64).unwrap_or_default();
        let low = u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default();
        let join = |high: u64, low: u64| Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
        if documented(high) {
            self.prefix(high);
            let secret = embedded(low).is_some() || self.opaque.contains_key(&low);
            return join(high, if secret { self.guid(low) } else { low });
        }
        if address.is_multicast() {
            return join(high & 0xffff << 48, self.guid(low));
        }
        // iWARP: the MAC and zeros.
        let mac = high >> 16;
        let routed = high >> 61 == 1 || high >> 57 == 0xfc >> 1 || address.is_unicast_link_local();
        if low == 0 && high & 0xffff == 0 && (self.knows_mac(mac) || !routed) {
            return join(self.mac(mac) << 16, 0);
        }
        join(self.prefix(high), self.guid(low))
    }

    /// The replacement of an IPv4 address: addresses of one /24 stay together.
    pub(super) fn ipv4(&mut self, address: Ipv4Addr) -> Ipv4Addr {
        let bits = address.to_bits();
        let keep =
            address.is_loopback() || address.is_unspecified() || address.is_multicast() || bits >> 28 == 0xf;
        if keep {
            return address;
        }
        if let Some(known) = self.hosts.get(&bits) {
            return Ipv4Addr::from_bits(*known);
        }
        let tag = |network: u32| u128::from(network) | 1 << 127;
        let network = bits >> 8;
        if address.is_documentation() || bits >> 17 == 0xc612 >> 1 {
            self.used.insert(tag(network));
            self.used.insert(tag(bits) | 1 << 126);
            return address;
        }
        if self.reserve {
            return address;
        }
        let replaced = match self.networks.get(&network) {
            Some(known) => *known,
            None => {
                let few = [0x00c0_0002, 0x00c6_3364, 0x00cb_0071];
                let many = 0..=0x1ff_u32;
                let link_local = address.is_link_local();
                let candidates: Box<dyn Iterator<Item = u32>> = if link_local {
                    Box::new((0x40..=0xff).map(|third| 0x00a9_fe00 | third))
                } else {
                    // 198.18.0.0/15, for benchmarks: when the three for documentation do not suffice.
                    Box::new(few.into_iter().chain(many.map(|low| 0x00c6_1200 + low)))
                };
                let mut candidates = candidates.filter(|network| !self.used.contains(&tag(*network)));
                let free = candidates.next().unwrap_or(0x00c6_1200);
                drop(candidates);
                self.used.insert(tag(free));
                self.networks.insert(network, free);
                free
            }
        };
        let host = match bits & 0xff {
            // The network's and its broadcast address, where it is a /24.
            own @ (0 | 0xff) => own,
            _ => {
                let host = |host: &u32| !self.used.contains(&(tag(replaced << 8 | host) | 1 << 126));
                (1..0xff).find(host).unwrap_or(0xfe)
            }
        };
        let free = replaced << 8 | host;
        self.used.insert(tag(free) | 1 << 126);
        self.hosts.insert(bits, free);
        Ipv4Addr::from_bits(free)
    }
}

/// 2001:db8::/32 and fd00:db8::/32.
fn documented(prefix: u64) -> bool {
    [0x2001_0db8, 0xfd00_0db8].contains(&(prefix >> 32))
}

/// How a MAC is in 64 bits.
#[derive(Clone, Copy)]
enum Form {
    /// EUI-64, with its middle bytes: ff:fe, or ff:fd as some virtual functions have it.
    Eui(u64),
    /// With 03:00 in the middle.
    Middle,
    /// With two zeros at the end: iWARP.
    Zeros,
}

impl Form {
    fn embed(self, mac: u64) -> u64 {
        let (high, low) = (mac >> 24 << 40, mac & 0xff_ffff);
        match self {
            Self::Eui(middle) => (high | middle << 24 | low) ^ 2 << 56,
            Self::Middle => high | 0x0300 << 24 | low,
            Self::Zeros => mac << 16,
        }
    }
}

fn embedded(guid: u64) -> Option<(u64, Form)> {
    let split = |guid: u64| guid >> 40 << 24 | guid & 0xff_ffff;
    match guid >> 24 & 0xffff {
        middle @ (0xfffe | 0xfffd) => Some((split(guid ^ 2 << 56), Form::Eui(middle))),
        0x0300 => Some((split(guid), Form::Middle)),
        _ if guid & 0xffff == 0 => Some((guid >> 16, Form::Zeros)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_contains_a_mac_follows_it() {
        let mut names = Pseudonyms::default();
        let mac = 0xb859_9f01_0203;
        assert_eq!(names.mac(mac), 0x0000_5e00_5300);
        assert_eq!(names.guid(0xba59_9fff_fe01_0203), 0x0200_5eff_fe00_5300);
        assert_eq!(names.guid(0xb859_9f03_0001_0203), 0x0000_5e03_0000_5300);
        assert_eq!(names.guid(0xb859_9f01_0203_0000), 0x0000_5e00_5300_0000);
        let ip = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        assert_eq!(names.ipv6(ip("fe80::ba59:9fff:fe01:203")), ip("fe80::200:5eff:fe00:5300"));
        assert_eq!(names.ipv6(ip("b859:9f01:203::")), ip("0:5e00:5300::"));
        let global = names.ipv6(ip("2a00:1:2:3:ba59:9fff:fe01:203"));
        assert_eq!(global, ip("2001:db8:0:1:200:5eff:fe00:5300"));
    }

    #[test]
    fn kinds_and_neighbourhoods_stay() {
        let mut names = Pseudonyms::default();
        let v4 = |names: &mut Pseudonyms, text: &str| names.ipv4(text.parse().unwrap()).to_string();
        assert_eq!(v4(&mut names, "192.0.2.1"), "192.0.2.1", "a documentation value is none of the host's");
        let (a, b) = (v4(&mut names, "10.1.2.3"), v4(&mut names, "10.1.2.77"));
        assert_eq!((a.as_str(), b.as_str()), ("198.51.100.1", "198.51.100.2"));
        assert_eq!(v4(&mut names, "10.1.3.255"), "203.0.113.255");
        assert_eq!(v4(&mut names, "10.1.4.9"), "198.18.0.1");
        assert!(v4(&mut names, "169.254.169.254").starts_with("169.254.64."));
        assert_eq!(v4(&mut names, "127.0.0.1"), "127.0.0.1");
        assert!(names.ipv6("fd12:3456::1".parse().unwrap()).to_string().starts_with("fd00:db8:0:1:"));
    }

    #[test]
    fn more_macs_than_documentation_has_are_private_and_all_differ() {
        let mut names = Pseudonyms::default();
        let given: HashSet<u64> = (0..700).map(|low| names.mac(0xb859_9f00_0000 | low)).collect();
        assert_eq!(given.len(), 700);
        assert!(given.iter().all(|mac| mac >> 8 == 0x5e_0053 || mac >> 24 == 0x02_005e));
    }
}
