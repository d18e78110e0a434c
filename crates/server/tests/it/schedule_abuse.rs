//! Connections, schedule and publishing in the hands of somebody who means no good. The numbers
//! are those of the list of abuse cases in the project's notes on reliability.

mod guests;
mod hostile;
mod inside;
mod misuse;
mod secrets;
