//! Changing one's mind against the clock: whatever was answered must stay true.
//!
//! `CAMPANILE_TEST_RACES` says how many races each of these stories runs; the default fits into
//! a usual run of the tests, 10000 is for a run of its own.

mod cancel;
mod delete;
mod edit;
mod publish_now;
mod reschedule;
mod track;
