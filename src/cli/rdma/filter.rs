//! Filters: which objects of a list to show.

use std::borrow::Cow;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use anyhow::{Context, Result, bail};

use super::words::{HelpWanted, Words};

/// What the values of a filter are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers and ranges of them.
    Numbers,
    /// Words; case does not matter.
    Words,
}

/// What an object has to say to a filter.
#[derive(Debug)]
pub(super) enum Cell<'a> {
    /// A number.
    Number(u64),
    /// A word.
    Word(Cow<'a, str>),
    /// Numbers, of which one has to fit.
    Numbers(&'a [u32]),
    /// Runs of numbers, of which one has to fit.
    Runs(&'a [(u32, u32)]),
}

impl From<u32> for Cell<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for Cell<'_> {
    fn from(word: &'static str) -> Self {
        Self::Word(word.into())
    }
}

/// An object that filters can ask.
pub(super) trait Filterable {
    /// The filters it knows.
    const FILTERS: &'static [(&'static str, Kind)];

    /// What it has to say to this one; an object that has nothing to say fits no value of it.
    fn cell(&self, filter: &str) -> Option<Cell<'_>>;
}

#[derive(Debug)]
enum Values {
    Numbers(Vec<RangeInclusive<u64>>),
    Words(Vec<String>),
}

/// Filters, all of which have to let an object pass.
#[derive(Debug, Default)]
pub(super) struct Filters {
    filters: Vec<(&'static str, Values)>,
}

impl Filters {
    /// Reads the values of the filter `name`.
    ///
    /// # Errors
    /// When there is no such filter or its values cannot be read.
    pub(super) fn add<F: Filterable>(&mut self, name: &str, words: &mut Words<'_>) -> Result<()> {
        let Some((name, kind)) = F::FILTERS.iter().find(|(known, _)| *known == name) else {
            if name == "help" {
                return Err(HelpWanted.into());
            }
            let known: Vec<_> = F::FILTERS.iter().map(|(name, _)| *name).collect();
            bail!("{}: {name:?} is no filter; one of: {}", words.path(), known.join(", "));
        };
        let list = words.value(&format!("the value of {name}"))?;
        let values = match kind {
            Kind::Numbers => Values::Numbers(
                list.split(',')
                    .map(range)
                    .collect::<Option<_>>()
                    .with_context(|| format!("{}: {name} wants numbers, not {list:?}", words.path()))?,
            ),
            Kind::Words => Values::Words(list.split(',').map(plain).collect()),
        };
        self.filters.push((name, values));
        Ok(())
    }

    /// Whether an object is wanted.
    pub(super) fn matches<F: Filterable>(&self, object: &F) -> bool {
        self.filters.iter().all(|(name, values)| {
            object.cell(name).is_some_and(|cell| match (values, cell) {
                (Values::Numbers(ranges), Cell::Number(number)) => {
                    ranges.iter().any(|range| range.contains(&number))
                }
                (Values::Numbers(ranges), Cell::Numbers(numbers)) => numbers
                    .iter()
                    .any(|number| ranges.iter().any(|range| range.contains(&u64::from(*number)))),
                (Values::Numbers(ranges), Cell::Runs(runs)) => runs.iter().any(|(first, last)| {
                    ranges.iter().any(|range| overlaps(range, u64::from(*first)..=u64::from(*last)))
                }),
                (Values::Words(words), Cell::Word(word)) => {
                    words.iter().any(|wanted| wanted.eq_ignore_ascii_case(&word))
                }
                _ => false,
            })
        })
    }

    /// The number that a filter asks for, if it asks for just one.
    pub(super) fn single(&self, name: &str) -> Option<u32> {
        let (_, Values::Numbers(ranges)) = self.filters.iter().find(|(filter, _)| *filter == name)? else {
            return None;
        };
        let [range] = ranges.as_slice() else { return None };
        (range.start() == range.end()).then(|| u32::try_from(*range.start()).ok())?
    }

    /// Of runs of numbers what a filter asks for; all if there is no such filter.
    pub(super) fn within(&self, name: &str, runs: &[(u32, u32)]) -> Vec<(u32, u32)> {
        let Some((_, Values::Numbers(ranges))) = self.filters.iter().find(|(filter, _)| *filter == name)
        else {
            return runs.to_vec();
        };
        let cut = |(first, last): &(u32, u32), range: &RangeInclusive<u64>| {
            let start = u32::try_from(*range.start()).ok()?.max(*first);
            let end = u32::try_from(*range.end()).unwrap_or(u32::MAX).min(*last);
            (start <= end).then_some((start, end))
        };
        runs.iter().flat_map(|run| ranges.iter().filter_map(|range| cut(run, range))).collect()
    }
}

fn overlaps(a: &RangeInclusive<u64>, b: RangeInclusive<u64>) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}

/// `17`, `0x11` or `20-29`.
fn range(text: &str) -> Option<RangeInclusive<u64>> {
    let (start, end) = text.split_once('-').unwrap_or((text, text));
    Some(number(start)?..=number(end)?)
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// An address as objects have it, any other word as it is.
fn plain(word: &str) -> String {
    word.parse::<IpAddr>().map_or_else(|_| word.to_owned(), |address| address.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing {
        pid: Option<u32>,
        state: &'static str,
        runs: Vec<(u32, u32)>,
    }

    impl Filterable for Thing {
        const FILTERS: &'static [(&'static str, Kind)] =
            &[("pid", Kind::Numbers), ("state", Kind::Words), ("lqpn", Kind::Numbers)];

        fn cell(&self, filter: &str) -> Option<Cell<'_>> {
            match filter {
                "pid" => self.pid.map(Cell::from),
                "state" => Some(self.state.into()),
                _ => Some(Cell::Runs(&self.runs)),
            }
        }
    }

    fn filters(text: &str) -> Result<Filters> {
        let list: Vec<_> = text.split(' ').map(str::to_owned).collect();
        let mut words = Words::new("test", &list);
        let mut filters = Filters::default();
        while let Some(name) = words.next() {
            filters.add::<Thing>(name, &mut words)?;
        }
        Ok(filters)
    }

    fn passes(text: &str) -> bool {
        let thing = Thing { pid: Some(20), state: "RTS", runs: vec![(5, 5), (7, 9)] };
        filters(text).unwrap().matches(&thing)
    }

    #[test]
    fn all_filters_have_to_pass() {
        assert!(passes("pid 1,15-0x20"));
        assert!(!passes("pid 19"));
        assert!(passes("pid 20 state rts,init"));
        assert!(!passes("pid 20 state INIT"));
        assert!(passes("lqpn 9-12") && !passes("lqpn 6"));
        let unowned = Thing { pid: None, state: "RTS", runs: Vec::new() };
        assert!(!filters("pid 0").unwrap().matches(&unowned), "no pid is not pid 0");
    }

    #[test]
    fn runs_are_cut() {
        let runs = [(5, 5), (7, 9)];
        assert_eq!(filters("lqpn 8,1-5").unwrap().within("lqpn", &runs), [(5, 5), (8, 8)]);
        assert_eq!(Filters::default().within("lqpn", &runs), runs);
    }

    #[test]
    fn one_number_is_told_from_many() {
        assert_eq!(filters("pid 7").unwrap().single("pid"), Some(7));
        assert_eq!(filters("pid 7,8").unwrap().single("pid"), None);
        assert_eq!(filters("pid 7-8").unwrap().single("pid"), None);
        assert_eq!(filters("state RTS").unwrap().single("pid"), None);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text| filters(text).unwrap_err().to_string();
        assert_eq!(error("foo 1"), "test: \"foo\" is no filter; one of: pid, state, lqpn");
        assert_eq!(error("pid x"), "test: pid wants numbers, not \"x\"");
        assert_eq!(error("pid"), "test: the value of pid is missing");
    }
}
