//! Shows steps as they run: what, and for how long. One line kept up to date on a terminal, a line every 15
//! seconds elsewhere. Remembers how long each step took.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::interrupt;
use crate::step::Step;

const TERMINAL_TICK: Duration = Duration::from_millis(500);
const PLAIN_TICK: Duration = Duration::from_secs(15);
const TAIL_LINES: usize = 60;

/// Where steps are reported; share it by cloning.
#[derive(Debug, Clone)]
pub(crate) struct Reporter {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    logs: PathBuf,
    terminal: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: Vec<Running>,
    done: Vec<Timing>,
}

#[derive(Debug)]
struct Running {
    name: String,
    since: Instant,
    said: Instant,
}

/// How long one step took, and how it ended.
#[derive(Debug, Clone)]
pub(crate) struct Timing {
    /// The step's name.
    pub(crate) name: String,
    /// From its start to its end.
    pub(crate) took: Duration,
    /// Whether it came to a good end.
    pub(crate) passed: bool,
}

impl Reporter {
    /// A reporter whose steps log into `logs`.
    pub(crate) fn new(logs: PathBuf) -> Self {
        let shared = Arc::new(Shared { logs, terminal: stderr().is_terminal(), state: Mutex::default() });
        let ticker = Arc::downgrade(&shared);
        thread::spawn(move || tick(&ticker));
        Self { shared }
    }

    /// Runs one step; when it fails, shows the end of its log and where the log is.
    pub(crate) fn step<T>(&self, name: &str, work: impl FnOnce(&Step) -> Result<T>) -> Result<T> {
        let step = Step::new(&self.shared.logs, name)?;
        let since = Instant::now();
        self.shared.lock().running.push(Running { name: name.to_owned(), since, said: since });
        if !self.shared.terminal {
            eprintln!("start {name}");
        }
        let result = interrupt::check().and_then(|()| work(&step));
        let took = since.elapsed();
        let mut state = self.shared.lock();
        state.running.retain(|running| running.name != name);
        state.done.push(Timing { name: name.to_owned(), took, passed: result.is_ok() });
        drop(state);
        match result {
            Ok(value) => {
                self.say(&format!("done  {name:<40} {:>12}", seconds(took)));
                Ok(value)
            }
            Err(error) if interrupt::check().is_err() => {
                self.say(&format!("stop  {name:<40} {:>12}", seconds(took)));
                Err(error)
            }
            Err(error) => {
                self.say(&format!(
                    "FAILED {name} after {}: {error:#}\n{}\nlog: {}",
                    seconds(took),
                    indent(&step.tail(TAIL_LINES)),
                    step.log.display()
                ));
                // The cause is told: the error that goes on need not say it again.
                Err(anyhow!("step `{name}` failed"))
            }
        }
    }

    /// Prints a line of its own, past the line that shows what runs.
    pub(crate) fn say(&self, text: &str) {
        let clear = if self.shared.terminal { "\r\x1b[K" } else { "" };
        eprintln!("{clear}{text}");
    }

    /// Every step that has ended so far, in the order they ended.
    pub(crate) fn timings(&self) -> Vec<Timing> {
        self.shared.lock().done.clone()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self) {
        let mut state = self.lock();
        if self.terminal {
            let line: Vec<String> = state
                .running
                .iter()
                .map(|running| format!("{} {}", running.name, seconds(running.since.elapsed())))
                .collect();
            eprint!("\r\x1b[K{}", line.join(" · "));
            let _ = stderr().flush();
        } else {
            for running in &mut state.running {
                if running.said.elapsed() >= PLAIN_TICK {
                    running.said = Instant::now();
                    eprintln!("  ...  {:<40} {:>12}", running.name, seconds(running.since.elapsed()));
                }
            }
        }
    }
}

fn tick(shared: &Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        shared.show();
        drop(shared);
        thread::sleep(TERMINAL_TICK);
    }
}

/// A duration as people read it: `7.3 s`, `4 min 02 s`.
pub(crate) fn seconds(duration: Duration) -> String {
    let whole = duration.as_secs();
    if whole < 60 {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} min {:02} s", whole / 60, whole % 60)
    }
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_people_say_them() {
        assert_eq!(seconds(Duration::from_millis(7_340)), "7.3 s");
        assert_eq!(seconds(Duration::from_secs(242)), "4 min 02 s");
    }
}
