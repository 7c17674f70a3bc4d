//! What is printed: rows of fields, as text or JSON, in rdma(8)'s exact form. No I/O but the writer.

use std::fmt::Display;
use std::io::{self, Write};

use serde_json::Value;

/// How to print.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// JSON in place of text.
    pub json: bool,
    /// JSON on many lines.
    pub pretty: bool,
    /// What belongs together on one line, with `\` where lines would end.
    pub oneline: bool,
    /// 1: more fields; 2: also what only the driver understands.
    pub details: u8,
    /// Objects as the driver itself describes them.
    pub raw: bool,
}

/// One thing to print: a text, and the fields of a JSON object.
#[derive(Debug, Default)]
pub(super) struct Row {
    text: String,
    fields: Vec<(String, Value)>,
}

impl Row {
    /// Text that has no JSON form.
    pub(super) fn text(&mut self, text: impl AsRef<str>) {
        self.text.push_str(text.as_ref());
    }

    /// A field that has no text form.
    pub(super) fn json(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        self.fields.push((key.into(), value.into()));
    }

    /// `key value `
    pub(super) fn field(&mut self, key: &str, value: impl Into<Value> + Display) {
        self.text.push_str(&format!("{key} {value} "));
        self.json(key, value);
    }

    /// A field that may not be there.
    pub(super) fn maybe(&mut self, key: &str, value: Option<impl Into<Value> + Display>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    /// `key 0x1f `; in JSON a string of the digits, as rdma(8) has it.
    pub(super) fn hex(&mut self, key: &str, value: Option<u32>) {
        if let Some(value) = value {
            self.text(format!("{key} {value:#x} "));
            self.json(key, format!("{value:x}"));
        }
    }

    /// `key on `; in JSON true or false.
    pub(super) fn on_off(&mut self, key: &str, value: Option<bool>) {
        if let Some(value) = value {
            self.text(format!("{key} {} ", on_off(value)));
            self.json(key, value);
        }
    }

    /// Goes on below, indented.
    pub(super) fn indent(&mut self) {
        self.text.push_str("\n    ");
    }

    /// The row of a device as resources have it: `dev rxe0 `.
    pub(super) fn of_device(index: u32, name: &str) -> Self {
        let mut row = Self::default();
        row.text(format!("dev {name} "));
        row.json("ifindex", index);
        row.json("ifname", name);
        row
    }

    /// The row of a port: `link rxe0/1 `, or `link rxe0/- ` for what has none.
    pub(super) fn of_port(index: Option<u32>, name: &str, port: Option<u32>) -> Self {
        let mut row = Self::default();
        let number = port.map_or_else(|| "-".to_owned(), |port| port.to_string());
        row.text(format!("link {name}/{number} "));
        if let Some(index) = index {
            row.json("ifindex", index);
        }
        row.json("ifname", name);
        if let Some(port) = port {
            row.json("port", port);
        }
        row
    }
}

/// The word for a switch.
pub(super) fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Prints rows. In JSON they are one array, which is closed even when something failed on the way.
pub(super) struct Printer<'a> {
    out: &'a mut dyn Write,
    style: Style,
    open: bool,
    joined: bool,
    rows: usize,
}

impl<'a> Printer<'a> {
    /// Prints to `out`.
    pub(super) fn new(out: &'a mut dyn Write, style: Style) -> Self {
        Self { out, style, open: false, joined: false, rows: 0 }
    }

    /// How it prints.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// Begins the list, so that an empty one is printed as such.
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.style.json && !self.open {
            self.out.write_all(b"[")?;
        }
        self.open = true;
        Ok(())
    }

    /// Has JSON objects follow each other without a line break, as rdma(8) does for the counters of memory regions.
    pub(super) fn join(&mut self) {
        self.joined = true;
    }

    /// Prints a row.
    pub(super) fn row(&mut self, row: &Row) -> io::Result<()> {
        self.begin()?;
        if self.style.json {
            let mut text = String::new();
            text.push_str(match (self.rows, self.style.pretty) {
                (0, true) => " ",
                (0, false) => "",
                _ => ",",
            });
            object(&mut text, &row.fields, self.style.pretty);
            text.push_str(if self.joined { "" } else { "\n" });
            self.out.write_all(text.as_bytes())?;
        } else if self.style.oneline {
            writeln!(self.out, "{}", row.text.replace('\n', "\\"))?;
        } else {
            writeln!(self.out, "{}", row.text)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Prints a text as it is.
    pub(super) fn plain(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    /// Hands on what is printed so far.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Ends the list if it has begun.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.open && self.style.json {
            self.out.write_all(if self.style.pretty { b" ]\n" } else { b"]\n" })?;
        }
        (self.open, self.joined, self.rows) = (false, false, 0);
        self.out.flush()
    }
}

/// An object. Pretty ones have a line a field, whatever the field holds.
fn object(text: &mut String, fields: &[(String, Value)], pretty: bool) {
    let (start, between, end) =
        if pretty { ("{\n        ", ",\n        ", "\n    }") } else { ("{", ",", "}") };
    text.push_str(start);
    for (at, (key, value)) in fields.iter().enumerate() {
        if at > 0 {
            text.push_str(between);
        }
        let key = Value::from(key.as_str());
        let colon = if pretty { ": " } else { ":" };
        text.push_str(&format!("{key}{colon}"));
        match value {
            Value::Array(items) if pretty => {
                let items: Vec<_> = items.iter().map(Value::to_string).collect();
                let inner = items.join(",");
                text.push_str(&if inner.is_empty() { "[ ]".to_owned() } else { format!("[ {inner} ]") });
            }
            value => text.push_str(&value.to_string()),
        }
    }
    text.push_str(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(style: Style, rows: &[Row]) -> String {
        let mut out = Vec::new();
        let mut printer = Printer::new(&mut out, style);
        printer.begin().unwrap();
        rows.iter().for_each(|row| printer.row(row).unwrap());
        printer.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn row() -> Row {
        let mut row = Row::of_port(Some(3), "a\"b", Some(1));
        row.hex("rkey", Some(0x2de));
        row.on_off("dim", Some(true));
        row.maybe("none", None::<u32>);
        row.indent();
        row.text("caps: <A>");
        row.json("caps", vec!["A", "B"]);
        row
    }

    #[test]
    fn text_is_that_of_rdma() {
        let text = "link a\"b/1 rkey 0x2de dim on \n    caps: <A>\n";
        assert_eq!(printed(Style::default(), &[row()]), text);
        let oneline = Style { oneline: true, ..Style::default() };
        assert_eq!(printed(oneline, &[row()]), "link a\"b/1 rkey 0x2de dim on \\    caps: <A>\n");
        assert_eq!(printed(Style::default(), &[]), "");
    }

    #[test]
    fn json_is_that_of_rdma() {
        let json = Style { json: true, ..Style::default() };
        let one = r#"{"ifindex":3,"ifname":"a\"b","port":1,"rkey":"2de","dim":true,"caps":["A","B"]}"#;
        assert_eq!(printed(json, &[row(), row()]), format!("[{one}\n,{one}\n]\n"));
        assert_eq!(printed(json, &[]), "[]\n");
        let pretty = Style { pretty: true, ..json };
        let mut short = Row::default();
        short.json("a", 1);
        short.json("b", Vec::<u32>::new());
        let text = "[ {\n        \"a\": 1,\n        \"b\": [ ]\n    }\n ]\n";
        assert_eq!(printed(pretty, &[short]), text);
        assert_eq!(printed(pretty, &[]), "[ ]\n");
    }
}
