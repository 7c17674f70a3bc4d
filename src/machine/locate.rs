//! Which line of a document a value stands on: a second, light pass, made only when something is wrong.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A step from a value to one inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The value of a key of a map.
    Key(String),
    /// An element of a list, from 0.
    Item(usize),
}

/// How documents are read: a host with thousands of functions has millions of values.
pub(super) fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_events: 50_000_000, max_nodes: 20_000_000 },
    }
}

/// The line, from 1, of the value that `path` leads to; of a value that is not there, that of what it should be in.
/// `None` where the text is no YAML.
pub(super) fn line(text: &str, path: &[Step]) -> Option<u64> {
    (0..=path.len()).rev().find_map(|length| exact(text, path.get(..length)?))
}

fn exact(text: &str, path: &[Step]) -> Option<u64> {
    let found = serde_saphyr::with_deserializer_from_str_with_options(text, options(), |deserializer| {
        Find(path).deserialize(deserializer)
    });
    found.ok().flatten().filter(|line| *line > 0)
}

/// Walks a path and passes over everything else.
struct Find<'p>(&'p [Step]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<u64>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            let here = <Spanned<IgnoredAny> as serde::Deserialize>::deserialize(deserializer)?;
            return Ok(Some(here.referenced.line()));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map or a list")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            match self.0.split_first() {
                Some((Step::Key(wanted), rest)) if *wanted == key => {
                    found = map.next_value_seed(Find(rest))?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let Some((Step::Item(wanted), rest)) = self.0.split_first() else {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        };
        for _ in 0..*wanted {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = list.next_element_seed(Find(rest))?.flatten();
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_its_line_and_what_is_missing_to_the_line_around_it() {
        let text = "a: 1\nb:\n  - {x: 1, y: 2}\n  - x: 3\n    y:\n      - 4\n      - 5\n";
        let key = |name: &str| Step::Key(name.into());
        assert_eq!(line(text, &[key("a")]), Some(1));
        assert_eq!(line(text, &[key("b"), Step::Item(0), key("y")]), Some(3));
        assert_eq!(line(text, &[key("b"), Step::Item(1), key("y"), Step::Item(1)]), Some(7));
        assert_eq!(line(text, &[key("b"), Step::Item(1), key("z")]), Some(4));
        assert_eq!(line(text, &[key("b"), Step::Item(9)]), Some(3));
        assert_eq!(line("{", &[key("b")]), None);
    }
}
