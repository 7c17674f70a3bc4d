//! Writing a document, in the order of the schema and dense enough to be read: a netdev, a PCI function, a GID and a
//! table of counters are each in braces, devices and ports are one key a line.

use super::document::Machine;
use super::tree::Tree;

/// Where lines in braces are broken.
const WIDTH: usize = 120;
/// Keys whose values, or the elements of whose lists, are one key a line.
const OPEN: [&str; 3] = ["kernel", "devices", "ports"];
/// Keys whose lists are one element a line.
const LISTS: [&str; 6] = ["netdevs", "devices", "ports", "gids", "resources", "faults"];
/// Keys of bit masks.
const MASKS: [&str; 2] = ["capFlags", "capMask"];

impl Machine {
    /// The document as YAML. Loading it gives the same value.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        // Our types are maps with texts as keys: JSON can hold them.
        if let Ok(Tree::Map(entries)) = Tree::of(self) {
            let empty = |entry: &&(String, Tree)| entry.0 == "resources" && entry.1 == Tree::List(Vec::new());
            for (key, value) in entries.iter().filter(|entry| !empty(entry)) {
                entry(&mut out, 0, key, value);
            }
        }
        out
    }
}

/// `key: value` and a line end; the first line is indented already where it follows a dash.
fn entry(out: &mut String, indent: usize, key: &str, value: &Tree) {
    pad(out, indent);
    entry_here(out, indent, key, value);
}

fn entry_here(out: &mut String, indent: usize, key: &str, value: &Tree) {
    out.push_str(&scalar(key));
    out.push(':');
    match value {
        Tree::Text(text) if key == "notes" && folds(text) => fold(out, indent + 2, text),
        Tree::List(items) if LISTS.contains(&key) && !items.is_empty() => {
            out.push('\n');
            for item in items {
                pad(out, indent + 2);
                out.push_str("- ");
                match item {
                    Tree::Map(entries) if OPEN.contains(&key) && !entries.is_empty() => {
                        for (index, (key, value)) in entries.iter().enumerate() {
                            if index > 0 {
                                pad(out, indent + 4);
                            }
                            entry_here(out, indent + 4, key, value);
                        }
                    }
                    _ => flow(out, indent + 4, key, item),
                }
            }
        }
        Tree::Map(entries) if OPEN.contains(&key) && !entries.is_empty() => {
            out.push('\n');
            for (key, value) in entries {
                entry(out, indent + 2, key, value);
            }
        }
        _ => {
            out.push(' ');
            flow(out, indent + 2, key, value);
        }
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A value in braces, broken between its pieces; what follows a break is indented by `indent`.
fn flow(out: &mut String, indent: usize, key: &str, value: &Tree) {
    let mut pieces = Vec::new();
    collect(&mut pieces, key, value, String::new(), "");
    let mut column = out.len() - out.rfind('\n').map_or(0, |end| end + 1);
    for (index, piece) in pieces.iter().enumerate() {
        if index > 0 && column + 1 + piece.len() > WIDTH {
            out.push('\n');
            pad(out, indent);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(piece);
        column += piece.len();
    }
    out.push('\n');
}

/// Cuts a value into what must not be broken: `[{lqpn: 1,`, `type: GSI}]`.
fn collect(pieces: &mut Vec<String>, key: &str, value: &Tree, before: String, after: &str) {
    match value {
        Tree::List(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                let before = if index == 0 { format!("{before}[") } else { String::new() };
                let end = if index + 1 == items.len() { format!("]{after}") } else { ",".to_owned() };
                collect(pieces, key, item, before, &end);
            }
        }
        Tree::Map(entries) if !entries.is_empty() => {
            for (index, (key, value)) in entries.iter().enumerate() {
                let before = if index == 0 { format!("{before}{{") } else { String::new() };
                let end = if index + 1 == entries.len() { format!("}}{after}") } else { ",".to_owned() };
                collect(pieces, key, value, format!("{before}{}: ", scalar(key)), &end);
            }
        }
        _ => pieces.push(format!("{before}{}{after}", leaf(key, value))),
    }
}

fn leaf(key: &str, value: &Tree) -> String {
    match value {
        Tree::Null => "null".to_owned(),
        Tree::Bare(text) if MASKS.contains(&key) => {
            text.parse::<u64>().map_or_else(|_| text.clone(), |mask| format!("0x{mask:x}"))
        }
        Tree::Bare(text) => text.clone(),
        Tree::Text(text) => scalar(text),
        Tree::List(_) => "[]".to_owned(),
        Tree::Map(_) => "{}".to_owned(),
    }
}

/// A text as it is where nothing else can be read into it, else in quotes.
fn scalar(text: &str) -> String {
    const WORDS: [&str; 11] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n", "inf", "nan"];
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text));
    if plain {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            ' '..='~' => quoted.push(c),
            // Letters of other languages stay; YAML does not take every character as it is.
            c if c.is_alphanumeric() || "−–—…→µ°".contains(c) => quoted.push(c),
            c => quoted.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    quoted.push('"');
    quoted
}

/// True for a text of words with one space between each two: only then do folded lines give the same text.
fn folds(text: &str) -> bool {
    let words = text.split(' ');
    !text.is_empty()
        && words.clone().all(|word| !word.is_empty() && word.chars().all(|c| !c.is_control() && !c.is_whitespace()))
        && text.chars().all(|c| matches!(c, ' '..='~') || c.is_alphanumeric())
        // A document that consists of its marks.
        && !words.clone().any(|word| ["---", "..."].contains(&word))
}

fn fold(out: &mut String, indent: usize, text: &str) {
    out.push_str(" >-\n");
    pad(out, indent);
    let mut column = indent;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > WIDTH {
            out.push('\n');
            pad(out, indent);
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}
