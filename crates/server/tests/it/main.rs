//! The service from outside: the real binary on a socket, once on each engine.

#[cfg(test)]
mod abuse;
#[cfg(test)]
mod abuse_brands;
#[cfg(test)]
mod abuse_failures;
#[cfg(test)]
mod abuse_fields;
#[cfg(test)]
mod abuse_functions;
#[cfg(test)]
mod abuse_input;
#[cfg(test)]
mod abuse_keys;
#[cfg(test)]
mod abuse_load;
#[cfg(test)]
mod abuse_paths;
#[cfg(test)]
mod abuse_sessions;
#[cfg(test)]
mod abuse_surface;
#[cfg(test)]
mod abuse_values;
#[cfg(test)]
mod abuse_wire;
#[cfg(test)]
mod audit;
#[cfg(test)]
mod brands;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod contract_table;
#[cfg(test)]
mod folders;
#[cfg(test)]
mod idempotency;
#[cfg(test)]
mod keys;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod media;
#[cfg(test)]
mod media_read;
#[cfg(test)]
mod media_refused;
#[cfg(test)]
mod media_storage;
#[cfg(test)]
mod media_upload;
#[cfg(test)]
mod networks;
#[cfg(test)]
mod operator;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod post_lists;
#[cfg(test)]
mod posts;
#[cfg(test)]
mod publish_races;
mod publishing;
#[cfg(test)]
mod races;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod runners;
#[cfg(test)]
mod schedule_abuse;
#[cfg(test)]
mod secrecy;
#[cfg(test)]
mod service;
mod settings;
#[cfg(test)]
mod smoke;
#[cfg(test)]
mod ssrf;
#[cfg(test)]
mod steps;
