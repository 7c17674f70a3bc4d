//! `snapshot --anonymise`: every address in every text is replaced, wherever it stands.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::document::Machine;
use super::pseudonym::Pseudonyms;

/// Keys whose values are words of ours or of the kernel.
const WORDS: [&str; 14] = [
    "apiVersion",
    "class",
    "driver",
    "errno",
    "kind",
    "linkLayer",
    "modules",
    "netnsMode",
    "nodeType",
    "physState",
    "protocol",
    "rate",
    "state",
    "type",
];
/// Keys whose values look like addresses and are none: four numbers with dots.
const VERSIONS: [&str; 2] = ["firmware", "release"];
/// Words that a document is made of. A host can have such a name, and then it gives nothing away.
const VOCABULARY: &str = "apiversion kind machine metadata notes kernel release netnsmode copyonfork privilegedqkey \
    monitor modules othernetns netdevs index name mac mtu up carrier addresses pci master lower devices nodetype \
    protocol nodeguid sysimageguid firmware capflags adaptivemoderation nameassigntype type parent driver movable \
    removable hcatype boardid parentnetdev address class vendor device numanode root physfn uverbs abi driverid \
    hwcounters ports number linklayer state physstate rate capmask lid smlid lmc subnetprefix gidtablesize gids \
    pkeys umad issm counters optionalcounters resources qps lqpn cqs mrs pds ctxs srqs cmids chardevices faults path \
    errno infiniband infiniband_verbs infiniband_mad hw_counters gid_attrs types ndevs rdma_cm sys node_guid fw_ver \
    ethernet loopback ipoib bridge rdma-operator.dev enx rocex";
/// Keys of maps whose keys are names of files.
const COUNTERS: [&str; 3] = ["counters", "hwCounters", "optionalCounters"];
/// What host names become, again and again up to their length.
const HOST: &str = "machine";

impl Machine {
    /// The same machine without any MAC, GUID, GID, address or board of the host, and without its names `hosts`.
    /// Documentation values stay as they are.
    ///
    /// # Errors
    /// Never for a machine that can be written: its types are all JSON.
    pub fn anonymised(&self, hosts: &[&str]) -> Result<Self, serde_json::Error> {
        let mut names: Vec<String> = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        // The first label of a full name is a name too.
        names.extend(hosts.iter().filter_map(|host| Some(host.split_once('.')?.0.to_ascii_lowercase())));
        names.retain(|name| !name.is_empty() && name.bytes().any(|byte| byte.is_ascii_alphabetic()));
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        let mut work = Work { names: Pseudonyms::default(), hosts: names, boards: Vec::new() };
        let mut value = serde_json::to_value(self)?;
        for pass in [Pass::Reserve, Pass::Collect, Pass::Replace] {
            work.names.reserve = pass == Pass::Reserve;
            if pass == Pass::Collect {
                // In the order that people look at them.
                for mac in self.netdevs.iter().filter_map(|netdev| netdev.mac.as_deref()) {
                    work.text("mac", mac);
                }
                let ports = self.devices.iter().flat_map(|device| &device.ports);
                for prefix in ports.filter_map(|port| port.subnet_prefix.as_deref().and_then(guid)) {
                    work.names.prefix(prefix);
                }
            }
            let replaced = work.value("", &value);
            if pass == Pass::Replace {
                value = replaced;
            }
        }
        let mut machine: Self = serde_json::from_value(value)?;
        if work.hosts.contains(&self.metadata.name.to_ascii_lowercase()) {
            HOST.clone_into(&mut machine.metadata.name);
        }
        Ok(machine)
    }
}

/// The same way is gone three times: what is a documentation value is not given to others, and what is met late can
/// stand early within a longer text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// Only documentation values are looked at.
    Reserve,
    /// Everything is given a pseudonym.
    Collect,
    /// And is replaced by it.
    Replace,
}

struct Work {
    names: Pseudonyms,
    hosts: Vec<String>,
    boards: Vec<String>,
}

impl Work {
    fn value(&mut self, key: &str, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(key, text)),
            Value::Array(items) => items.iter().map(|item| self.value(key, item)).collect(),
            Value::Object(entries) => {
                let files = COUNTERS.contains(&key);
                let name =
                    |work: &mut Self, key: &str| if files { work.text("", key) } else { key.to_owned() };
                entries.iter().map(|(key, value)| (name(self, key), self.value(key, value))).collect()
            }
            other => other.clone(),
        }
    }

    fn text(&mut self, key: &str, text: &str) -> String {
        if WORDS.contains(&key) {
            return text.to_owned();
        }
        let text = if key == "boardId" { self.board(text) } else { text.to_owned() };
        self.addresses(&self.without_hosts(key, &text), !VERSIONS.contains(&key))
    }

    /// `MT_0000000838`: the number becomes that of the board in this document.
    fn board(&mut self, text: &str) -> String {
        let digits = text.bytes().rev().take_while(u8::is_ascii_digit).count();
        if digits < 4 {
            return text.to_owned();
        }
        if !self.boards.iter().any(|known| known == text) {
            self.boards.push(text.to_owned());
        }
        let number = self.boards.iter().position(|known| known == text).unwrap_or_default() + 1;
        format!("{}{number:0digits$}", text.get(..text.len() - digits).unwrap_or_default())
    }

    fn without_hosts(&self, key: &str, text: &str) -> String {
        let mut text = text.to_owned();
        for host in &self.hosts {
            let mut from = 0;
            while let Some(found) =
                text.to_ascii_lowercase().get(from..).and_then(|rest| rest.find(host.as_str()))
            {
                let start = from + found;
                let end = start + host.len();
                let letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
                let before = start.checked_sub(1).and_then(|index| text.as_bytes().get(index).copied());
                let inside = letter(before) || letter(text.as_bytes().get(end).copied());
                // A short name is part of many words.
                let common = host.len() < 4 || VOCABULARY.contains(host.as_str());
                if !common || (key == "notes" && !inside) {
                    let mut pseudonym: String = HOST.chars().cycle().take(host.len()).collect();
                    if pseudonym == *host {
                        pseudonym = "x".repeat(host.len());
                    }
                    text.replace_range(start..end, &pseudonym);
                }
                from = end;
            }
        }
        text
    }

    /// Every address in `text` replaced; numbers with dots only where `dots`.
    fn addresses(&mut self, text: &str, dots: bool) -> String {
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let before = at.checked_sub(1).and_then(|index| bytes.get(index).copied());
            let earlier = at.checked_sub(2).and_then(|index| bytes.get(index).copied());
            let found = self.run(rest, before, dots).or_else(|| self.window(rest, before, earlier));
            match found {
                Some((length, replacement)) => {
                    out.push_str(&replacement);
                    at += length;
                }
                None => {
                    let Some(next) = rest.chars().next() else { break };
                    out.push(next);
                    at += next.len_utf8();
                }
            }
        }
        out
    }

    /// An address that stands alone: nothing it could be a part of is before or after it.
    fn run(&mut self, rest: &str, before: Option<u8>, dots: bool) -> Option<(usize, String)> {
        let part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b':';
        if before.is_some_and(|byte| part(byte) || byte == b'.') {
            return None;
        }
        let length = rest.bytes().take_while(|byte| byte.is_ascii_hexdigit() || b":.".contains(byte)).count();
        let whole = rest.get(..length)?;
        if rest.as_bytes().get(length).is_some_and(|byte| part(*byte)) {
            return None;
        }
        // A sentence may end here.
        for token in [whole, whole.trim_end_matches('.'), whole.trim_end_matches(['.', ':'])] {
            let found = self.fixed(token).or_else(|| {
                if let Ok(address) = token.parse::<Ipv6Addr>() {
                    return Some(self.ipv6(token, address));
                }
                let address = token.parse::<Ipv4Addr>().ok().filter(|_| dots)?;
                Some(self.names.ipv4(address).to_string())
            });
            if let Some(replacement) = found {
                return Some((token.len(), replacement));
            }
        }
        None
    }

    /// An address within something longer.
    fn window(&mut self, rest: &str, before: Option<u8>, earlier: Option<u8>) -> Option<(usize, String)> {
        for length in [59, 39, 19, 17] {
            if let Some(replacement) = rest.get(..length).and_then(|token| self.fixed(token)) {
                return Some((length, replacement));
            }
        }
        // Names made of a MAC or a GUID: enx001122334455, rocex0011223344556677. A number may look the same.
        let named = before == Some(b'x') && earlier.is_some_and(|byte| byte.is_ascii_alphabetic());
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        for length in [16, 12] {
            let Some(token) = rest.get(..length).filter(|_| digits >= length) else { continue };
            let number = u64::from_str_radix(token, 16).ok()?;
            let known =
                if length == 16 { self.names.knows_guid(number) } else { self.names.knows_mac(number) };
            if known || (named && digits == length) {
                let replaced = if length == 16 { self.names.guid(number) } else { self.names.mac(number) };
                return Some((length, format!("{replaced:0length$x}")));
            }
        }
        None
    }

    /// A text of a length that only one kind has.
    fn fixed(&mut self, token: &str) -> Option<String> {
        match token.len() {
            17 => {
                let separator = if token.contains('-') { '-' } else { ':' };
                let mac = mac_number(token, separator)?;
                Some(mac_text(self.names.mac(mac), separator))
            }
            19 => Some(guid_text(self.names.guid(guid(token)?))),
            39 => {
                let (high, low) = (guid(token.get(..19)?)?, guid(token.get(20..)?)?);
                let separated = token.as_bytes().get(19) == Some(&b':');
                let address = Ipv6Addr::from_bits(u128::from(high) << 64 | u128::from(low));
                separated.then(|| self.ipv6(token, address))
            }
            // IPoIB: flags and QP number, then the GID.
            59 => {
                let bytes: Option<Vec<u8>> = token.split(':').map(byte).collect();
                let bytes = bytes.filter(|bytes| bytes.len() == 20)?;
                let gid = <[u8; 16]>::try_from(bytes.get(4..)?).ok()?;
                let replaced = self.names.ipv6(Ipv6Addr::from(gid));
                let bytes = bytes.iter().take(4).copied().chain(replaced.octets());
                Some(bytes.map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":"))
            }
            _ => None,
        }
    }

    /// In the spelling that was met.
    fn ipv6(&mut self, token: &str, address: Ipv6Addr) -> String {
        let replaced = self.names.ipv6(address);
        if replaced == address {
            return token.to_owned();
        }
        let full = token.len() == 39 && !token.contains('.');
        if full {
            let bits = replaced.to_bits();
            let half = |bits: u128| guid_text(u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default());
            format!("{}:{}", half(bits >> 64), half(bits))
        } else {
            replaced.to_string()
        }
    }
}

fn byte(text: &str) -> Option<u8> {
    let hex = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| u8::from_str_radix(text, 16).ok()).flatten()
}

fn mac_number(text: &str, separator: char) -> Option<u64> {
    let bytes: Option<Vec<u8>> = text.split(separator).map(byte).collect();
    let bytes = bytes.filter(|bytes| bytes.len() == 6)?;
    Some(bytes.into_iter().fold(0, |mac, byte| mac << 8 | u64::from(byte)))
}

fn mac_text(mac: u64, separator: char) -> String {
    let bytes = mac.to_be_bytes();
    let bytes: Vec<String> = bytes.iter().skip(2).map(|byte| format!("{byte:02x}")).collect();
    bytes.join(&separator.to_string())
}

fn guid(text: &str) -> Option<u64> {
    text.parse::<crate::nl::Guid>().ok().map(|guid| guid.0)
}

fn guid_text(guid: u64) -> String {
    crate::nl::Guid(guid).to_string()
}
