//! Profile and schedule settings.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{
    decode::{At, Faults, Field, Json, List, Whole},
    input,
    label::Name,
    time::{MINUTE, Millis},
    words,
};

words! {
    #[derive(PartialOrd, Ord)]
    pub enum Weekday {
        Monday = "monday",
        Tuesday = "tuesday",
        Wednesday = "wednesday",
        Thursday = "thursday",
        Friday = "friday",
        Saturday = "saturday",
        Sunday = "sunday",
    }
}

/// A zone of the IANA database, such as `Europe/Berlin`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeZone(pub String);

impl Field for TimeZone {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let zone = jiff::tz::db().get(&text).ok();
        let name = zone.as_ref().and_then(|zone| zone.iana_name());
        if name.is_none() {
            faults.add(at, "unknown_time_zone", "a zone name such as Europe/Berlin or UTC");
        }
        name.map(|name| Self(name.to_owned()))
    }
}

impl JsonSchema for TimeZone {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeZone".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": 64, "examples": ["Europe/Berlin"],
            "description": "Name of a zone in the IANA time zone database.",
        })
    }
}

/// A time of day, `HH:MM`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TimeOfDay(pub String);

impl Field for TimeOfDay {
    fn decode(json: Json, at: &At<'_>, faults: &mut Faults) -> Option<Self> {
        let text = json.into_text(at, faults)?;
        let two = |part: &str, below: u8| {
            part.len() == 2
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.parse::<u8>().is_ok_and(|number| number < below)
        };
        match text.split_once(':') {
            Some((hour, minute)) if two(hour, 24) && two(minute, 60) => Some(Self(text)),
            _ => {
                faults.add(at, "invalid_time_of_day", "a time of day such as 09:30");
                None
            }
        }
    }
}

impl JsonSchema for TimeOfDay {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TimeOfDay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$", "examples": ["09:30"]
        })
    }
}

input! {
    /// A weekly time at which the brand likes to publish, in the brand's time zone.
    #[derive(PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    pub struct Slot {
        weekday: Weekday,
        time: TimeOfDay,
    }
}

/// How a brand plans its posts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    pub time_zone: TimeZone,
    /// The weekly slots that `available-slot` chooses from, in order.
    pub slots: Vec<Slot>,
    /// Two posts are never put closer together than this.
    pub minimum_gap_minutes: i64,
    /// How late a post may start; later it is missed and waits for a person.
    pub late_window_hours: i64,
}

impl Default for Schedule {
    fn default() -> Self {
        let weekdays = Weekday::ALL.iter().take(5);
        let slots = weekdays
            .flat_map(|weekday| {
                ["09:00", "13:00", "17:00"]
                    .map(|time| Slot { weekday: *weekday, time: TimeOfDay(time.to_owned()) })
            })
            .collect();
        Self {
            time_zone: TimeZone("UTC".to_owned()),
            slots,
            minimum_gap_minutes: 15,
            late_window_hours: 24,
        }
    }
}

input! {
    pub struct ProfileChanges {
        name: Option<Name>,
        time_zone: Option<TimeZone>,
    }
    read_only: ["email", "id", "role"]
}

input! {
    pub struct ScheduleChanges {
        time_zone: Option<TimeZone>,
        slots: Option<List<Slot, 200>>,
        minimum_gap_minutes: Option<Whole<0, 1440>>,
        late_window_hours: Option<Whole<1, 168>>,
    }
}

input! {
    /// New settings. A section or field that is left out stays as it is.
    #[schemars(extend("examples" = [{
        "profile": { "name": "Ada" },
        "schedule": {
            "time_zone": "Europe/Berlin",
            "slots": [{ "weekday": "monday", "time": "09:30" }],
            "minimum_gap_minutes": 30
        }
    }]))]
    pub struct SettingsChanges {
        profile: Option<ProfileChanges>,
        schedule: Option<ScheduleChanges>,
    }
}

impl Schedule {
    pub fn apply(&mut self, changes: ScheduleChanges) {
        if let Some(zone) = changes.time_zone {
            self.time_zone = zone;
        }
        if let Some(slots) = changes.slots {
            self.slots = slots.0;
            self.slots.sort();
            self.slots.dedup();
        }
        if let Some(minutes) = changes.minimum_gap_minutes {
            self.minimum_gap_minutes = minutes.0;
        }
        if let Some(hours) = changes.late_window_hours {
            self.late_window_hours = hours.0;
        }
    }
}

/// A free slot is looked for so many days ahead.
const HORIZON_DAYS: i64 = 400;

impl Schedule {
    /// The first weekly slot after a moment that keeps its distance to all times in `taken`.
    ///
    /// Slots are local times: one that a change of the clocks skips comes as much later as the
    /// clocks jump, and one that the clocks show twice is meant the first time.
    pub fn next_slot(&self, after: Millis, taken: &[Millis]) -> Option<Millis> {
        let zone = jiff::tz::db().get(&self.time_zone.0).ok()?;
        let start = jiff::Timestamp::from_millisecond(after).ok()?.to_zoned(zone.clone()).date();
        let gap = self.minimum_gap_minutes.max(0) * MINUTE;
        let is_free =
            |at: Millis| taken.iter().all(|held| at.abs_diff(*held) >= gap.max(1).unsigned_abs());
        (0..HORIZON_DAYS).find_map(|day| {
            let date = start.checked_add(jiff::Span::new().days(day)).ok()?;
            let mut times: Vec<_> = self.slots_on(date, &zone).collect();
            times.sort_unstable();
            times.into_iter().find(|at| *at > after && is_free(*at))
        })
    }

    fn slots_on(
        &self,
        date: jiff::civil::Date,
        zone: &jiff::tz::TimeZone,
    ) -> impl Iterator<Item = Millis> {
        let weekday = usize::try_from(date.weekday().to_monday_zero_offset()).unwrap_or(0);
        let slots = self.slots.iter().filter(move |slot| slot.weekday == Weekday::ALL[weekday]);
        slots.filter_map(move |slot| {
            let (hour, minute) = slot.time.0.split_once(':')?;
            let time = date.at(hour.parse().ok()?, minute.parse().ok()?, 0, 0);
            Some(zone.to_ambiguous_zoned(time).compatible().ok()?.timestamp().as_millisecond())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::{DAY, HOUR};

    fn schedule(zone: &str, slots: &[(Weekday, &str)]) -> Schedule {
        let slots = slots
            .iter()
            .map(|(weekday, time)| Slot { weekday: *weekday, time: TimeOfDay((*time).to_owned()) });
        Schedule {
            time_zone: TimeZone(zone.to_owned()),
            slots: slots.collect(),
            minimum_gap_minutes: 30,
            ..Schedule::default()
        }
    }

    fn at(text: &str) -> Millis {
        text.parse::<jiff::Timestamp>().unwrap().as_millisecond()
    }

    #[test]
    fn the_next_slot_is_free_and_keeps_its_distance() {
        let schedule = schedule("UTC", &[(Weekday::Monday, "09:00"), (Weekday::Monday, "09:15")]);
        let sunday = at("2026-11-15T12:00:00Z");
        let monday = at("2026-11-16T09:00:00Z");

        assert_eq!(schedule.next_slot(sunday, &[]), Some(monday));
        // The other slot of the day lies too close to the one that is taken.
        assert_eq!(schedule.next_slot(sunday, &[monday]), Some(monday + 7 * DAY));
        assert_eq!(schedule.next_slot(monday, &[]), Some(monday + 15 * MINUTE));
        assert_eq!(Schedule { slots: Vec::new(), ..schedule }.next_slot(sunday, &[]), None);
    }

    #[test]
    fn slots_follow_the_clock_on_the_wall() {
        let sunday = [(Weekday::Sunday, "02:30"), (Weekday::Sunday, "09:00")];
        let berlin = schedule("Europe/Berlin", &sunday);
        // Clocks jump from 02:00 to 03:00: half past two comes an hour later on that day.
        let spring = at("2026-03-28T12:00:00Z");
        assert_eq!(berlin.next_slot(spring, &[]), Some(at("2026-03-29T01:30:00Z")));
        assert_eq!(
            berlin.next_slot(at("2026-03-29T02:00:00Z"), &[]),
            Some(at("2026-03-29T07:00:00Z"))
        );
        // Clocks show 02:30 twice: the first one counts.
        let autumn = at("2026-10-24T12:00:00Z");
        assert_eq!(berlin.next_slot(autumn, &[]), Some(at("2026-10-25T00:30:00Z")));
        assert_eq!(
            berlin.next_slot(at("2026-10-25T00:30:00Z"), &[]),
            Some(at("2026-10-25T00:30:00Z") + 7 * HOUR + 30 * MINUTE)
        );
    }
}
