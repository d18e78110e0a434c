//! What the run prints: one line per figure, with its target and whether it was met.

use std::fmt::Display;

use crate::{load::Pace, process::machine_load};

/// What a figure should be, in the unit of the figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Shown so that another line can be understood.
    None,
}

pub(crate) fn head(pace: &Pace) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "Campanile beside a bare server: {cores} cores shared by wrk, server and database, \
         medians of {} rounds of {} s",
        pace.rounds,
        pace.round.as_secs()
    );
    if let Some(load) = machine_load().filter(|load| *load > 0.5) {
        println!(
            "The machine is busy with other work (load {load:.1}): trust ratios, not figures."
        );
    }
}

pub(crate) fn section(title: &str) {
    println!("\n{title}");
}

/// `unit` is written behind the figure and behind the target alike.
pub(crate) fn line(name: &str, detail: &str, figure: f64, unit: &str, target: Target) {
    let shown = format!("{}{unit}", number(figure));
    let verdict = match target {
        Target::AtLeast(least) => verdict(">=", least, unit, figure >= least),
        Target::AtMost(most) => verdict("<=", most, unit, figure <= most),
        Target::None => String::new(),
    };
    println!("{}", format!("  {name:<30} {detail:<66} {shown:>10}   {verdict}").trim_end());
}

fn verdict(sign: &str, bound: f64, unit: &str, met: bool) -> String {
    let target = format!("target {sign} {}{unit}", number(bound));
    format!("{target:<20} {}", if met { "met" } else { "NOT MET" })
}

/// Small figures with decimals, large ones with separators.
pub(crate) fn number(value: f64) -> String {
    if value.abs() < 10.0 && value.fract().abs() > 1e-9 {
        return format!("{value:.2}");
    }
    if value.abs() < 100.0 && value.fract().abs() > 1e-9 {
        return format!("{value:.1}");
    }
    let sign = if value <= -0.5 { "-" } else { "" };
    format!("{sign}{}", separated(value.round().abs()))
}

fn separated(value: impl Display) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() + 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The middle one; the mean of the middle two when their number is even.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len(), values.get(values.len() / 2)) {
        (count, Some(upper)) if count.is_multiple_of(2) => (values[count / 2 - 1] + upper) / 2.0,
        (_, Some(middle)) => *middle,
        (_, None) => f64::NAN,
    }
}

/// How many times as much as the other, within each round: what slows the machine down for a
/// while slows both.
pub(crate) fn median_ratio(own: &[f64], other: &[f64]) -> f64 {
    median(own.iter().zip(other).map(|(own, other)| own / other).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_easy_to_read() {
        assert_eq!(number(1_234_567.8), "1,234,568");
        assert_eq!(number(999.4), "999");
        assert_eq!(number(15.0), "15");
        assert_eq!(number(15.26), "15.3");
        assert_eq!(number(1.3), "1.30");
        assert_eq!(number(-1_234.5), "-1,235");
    }

    #[test]
    fn the_median_ignores_the_outlier() {
        assert!((median(vec![3.0, 1.0, 900.0]) - 3.0).abs() < 1e-9);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < 1e-9);
        assert!(median(Vec::new()).is_nan());
    }
}
