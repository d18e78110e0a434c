//! One event, one line of JSON.
//!
//! A request costs a line, so lines are written straight into a buffer that each thread keeps.

use std::{
    cell::RefCell,
    error::Error,
    fmt::{self, Write},
};

use campanile_model::time::{self, Clock};
use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context};

use super::outbox;
use crate::clock::SystemClock;

pub(super) struct JsonLines;

thread_local! {
    static LINE: RefCell<String> = const { RefCell::new(String::new()) };
}

impl<S: Subscriber> Layer<S> for JsonLines {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        LINE.with_borrow_mut(|line| {
            line.clear();
            line.push_str("{\"time\":\"");
            time::write(line, SystemClock.now());
            line.push_str("\",\"level\":\"");
            line.push_str(event.metadata().level().as_str());
            line.push('"');
            event.record(&mut Fields(line));
            line.push_str("}\n");
            let urgent = *event.metadata().level() <= Level::WARN;
            outbox::send(line, urgent);
        });
    }
}

/// What the log says of one request.
pub(crate) struct RequestLine<'a> {
    pub(crate) request_id: &'a str,
    pub(crate) method: &'static str,
    pub(crate) route: &'static str,
    pub(crate) status: u16,
    pub(crate) duration_us: u64,
    pub(crate) user: Option<&'a str>,
    pub(crate) brand: Option<&'a str>,
}

impl RequestLine<'_> {
    /// Every request writes one, so it goes past the general machinery. All texts in it are our
    /// own or were checked, and need no escaping.
    pub(super) fn write(&self) {
        LINE.with_borrow_mut(|line| {
            line.clear();
            line.push_str("{\"time\":\"");
            time::write(line, SystemClock.now());
            for (name, value) in [
                (
                    "\",\"level\":\"INFO\",\"message\":\"request\",\"request_id\":\"",
                    self.request_id,
                ),
                ("\",\"method\":\"", self.method),
                ("\",\"route\":\"", self.route),
                ("\",\"user\":\"", self.user.unwrap_or("-")),
                ("\",\"brand\":\"", self.brand.unwrap_or("-")),
            ] {
                line.push_str(name);
                line.push_str(value);
            }
            // Writing to a String cannot fail.
            let _ = writeln!(
                line,
                "\",\"status\":{},\"duration_us\":{}}}",
                self.status, self.duration_us
            );
            outbox::send(line, false);
        });
    }
}

/// Writes `,"name":value` for each field.
struct Fields<'a>(&'a mut String);

impl Fields<'_> {
    fn name(&mut self, field: &Field) {
        self.0.push_str(",\"");
        self.0.push_str(field.name());
        self.0.push_str("\":");
    }

    fn number(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field);
        // Writing to a String cannot fail.
        let _ = write!(self.0, "{value}");
    }

    fn text(&mut self, field: &Field, value: impl fmt::Display) {
        self.name(field);
        self.0.push('"');
        let _ = write!(Escaped(self.0), "{value}");
        self.0.push('"');
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.number(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.text(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format_args!("{value:?}"));
    }

    /// The error and what caused it.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut whole = value.to_string();
        let mut cause = value.source();
        while let Some(inner) = cause {
            let _ = write!(whole, ": {inner}");
            cause = inner.source();
        }
        self.text(field, whole);
    }
}

/// Puts text into a JSON string.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '"' => self.0.push_str("\\\""),
                '\\' => self.0.push_str("\\\\"),
                '\n' => self.0.push_str("\\n"),
                c if c.is_control() => write!(self.0, "\\u{:04x}", u32::from(c))?,
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_logged_stays_one_line_of_json() {
        let mut line = String::from("\"");
        write!(Escaped(&mut line), "a\"b\\c\nd\u{1}e\u{7f}é").unwrap();
        line.push('"');

        let read: String = serde_json::from_str(&line).unwrap();
        assert_eq!(read, "a\"b\\c\nd\u{1}e\u{7f}é");
        assert!(!line.contains('\n'));
    }
}
