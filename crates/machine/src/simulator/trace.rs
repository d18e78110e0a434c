//! The story of a schedule, told only when somebody wants to read it.

use campanile_model::time::Millis;

pub(super) struct Trace {
    zero: Millis,
    lines: Option<Vec<String>>,
}

impl Trace {
    /// Times are told from `zero` on.
    pub(super) fn new(wanted: bool, zero: Millis) -> Self {
        Self { zero, lines: wanted.then(Vec::new) }
    }

    pub(super) fn note(&mut self, now: Millis, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            let seconds = (now - self.zero) as f64 / 1000.0;
            lines.push(format!("{seconds:>12.3} s  {}", line()));
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}
